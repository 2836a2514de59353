// What add-train-step rejects.
// RUN: split-file %s %t
// RUN: espalier-opt %t/fine.mlir -verify-diagnostics --add-train-step="optimizer=lion"
// RUN: espalier-opt %t/none.mlir -verify-diagnostics --add-train-step
// RUN: espalier-opt %t/several.mlir -verify-diagnostics --add-train-step
// RUN: espalier-opt %t/taken.mlir -verify-diagnostics --add-train-step
// RUN: espalier-opt %t/no-parameter.mlir -verify-diagnostics --add-train-step
// RUN: espalier-opt %t/types.mlir -verify-diagnostics --add-train-step

//--- fine.mlir
// expected-error @+1 {{has no optimiser 'lion'; there are sgd, momentum, adagrad and adam}}
module {
  func.func @g(%b: tensor<8xf32> {nn.param = "b"}) -> (tensor<8xf32> {nn.gradient = "b"}) {
    return %b : tensor<8xf32>
  }
}

//--- none.mlir
// expected-error @+1 {{has no function that returns gradients; run differentiate first}}
module {
  func.func @g(%b: tensor<8xf32> {nn.param = "b"}) -> (tensor<8xf32> {nn.output = "gradient.b"}) {
    return %b : tensor<8xf32>
  }
}

//--- several.mlir
// expected-error @+1 {{has several functions that return gradients, @g and @h}}
module {
  func.func @g(%b: tensor<8xf32> {nn.param = "b"}) -> (tensor<8xf32> {nn.gradient = "b"}) {
    return %b : tensor<8xf32>
  }
  func.func @h(%b: tensor<8xf32> {nn.param = "b"}) -> (tensor<8xf32> {nn.gradient = "b"}) {
    return %b : tensor<8xf32>
  }
}

//--- taken.mlir
// expected-error @+1 {{has a function @train_step already}}
module {
  func.func @g(%b: tensor<8xf32> {nn.param = "b"}) -> (tensor<8xf32> {nn.gradient = "b"}) {
    return %b : tensor<8xf32>
  }
  func.func @train_step() {
    return
  }
}

//--- no-parameter.mlir
// expected-error @+1 {{returns the gradient of 'c', which is no parameter}}
func.func @g(%b: tensor<8xf32> {nn.param = "b"}) -> (tensor<8xf32> {nn.gradient = "c"}) {
  return %b : tensor<8xf32>
}

//--- types.mlir
// One learning rate is of one type.
// expected-error @+1 {{has parameters of different types, which cannot be trained together: 'b' and 'c'}}
func.func @g(%b: tensor<8xf32> {nn.param = "b"}, %c: tensor<8xf64> {nn.param = "c"})
    -> (tensor<8xf32> {nn.gradient = "b"}, tensor<8xf64> {nn.gradient = "c"}) {
  return %b, %c : tensor<8xf32>, tensor<8xf64>
}
