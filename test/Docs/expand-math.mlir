// The example in the description of expand-math is true.
// RUN: %python %S/pass_example.py %source_dir/include/espalier/Conversion/Passes.td expand-math %s
// RUN: espalier-opt %s --expand-math | FileCheck %s

func.func @example(%x: vector<8xf32>) -> vector<8xf32> {
  // CHECK-NOT: math.exp
  // CHECK: return
  %y = math.exp %x : vector<8xf32>
  return %y : vector<8xf32>
}
