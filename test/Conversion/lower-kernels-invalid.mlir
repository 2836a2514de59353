// RUN: espalier-opt %s --lower-kernels -verify-diagnostics

// An operator that neither LLVM nor libm has.
func.func private @kernel(%x: !llvm.ptr, %begin: i64, %end: i64) attributes {model.kernel} {
  %0 = llvm.load %x : !llvm.ptr -> vector<4xi32>
  // expected-error @+1 {{failed to legalize operation 'math.ipowi'}}
  %1 = math.ipowi %0, %0 : vector<4xi32>
  llvm.store %1, %x : vector<4xi32>, !llvm.ptr
  return
}
