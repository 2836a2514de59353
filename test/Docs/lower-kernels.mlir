// The example in the description of lower-kernels is true.
// RUN: split-file %s %t
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Conversion/Passes.td lower-kernels %t/before.mlir %t/after.mlir
// RUN: espalier-opt %t/before.mlir --lower-kernels -o %t/found.mlir
// RUN: espalier-opt %t/after.mlir -o %t/expected.mlir
// RUN: diff %t/expected.mlir %t/found.mlir

//--- before.mlir
func.func private @kernel(%operands: !llvm.ptr, %begin: i64, %end: i64) attributes {model.kernel} {
  %0 = llvm.load %operands : !llvm.ptr -> vector<8xf32>
  %1 = arith.addf %0, %0 : vector<8xf32>
  llvm.store %1, %operands : vector<8xf32>, !llvm.ptr
  return
}

//--- after.mlir
llvm.func @kernel(%operands: !llvm.ptr, %begin: i64, %end: i64) attributes {model.kernel, sym_visibility = "private"} {
  %0 = llvm.load %operands : !llvm.ptr -> vector<8xf32>
  %1 = llvm.fadd %0, %0 : vector<8xf32>
  llvm.store %1, %operands : vector<8xf32>, !llvm.ptr
  llvm.return
}
