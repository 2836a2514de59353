// RUN: espalier-opt %s --batch-vertices -verify-diagnostics

// Phases are needed, even of functions that nobody applies.
vertex.func @f(%b: tensor<8xf32>) arity(0) {
  // expected-error @+1 {{has no phase; run classify-operators first}}
  vertex.push "y" %b : tensor<8xf32>
}
