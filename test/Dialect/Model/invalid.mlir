// What the verifiers of the model dialect reject.
// RUN: espalier-opt %s -split-input-file -verify-diagnostics

model.entry @dynamic_row graphs [] arities [] {
  // expected-error @+1 {{expects rows to be tensors of static shape, but got 'tensor<?x4xf32>'}}
  %0 = model.buffer dynamic "" rows vertices of 0 : tensor<?x4xf32>
}

// -----

model.entry @no_tensor graphs [] arities [] {
  // expected-error @+1 {{expects rows to be tensors of static shape, but got 'f32'}}
  %0 = model.buffer dynamic "" rows one of 0 : f32
}

// -----

model.entry @constant_without_value graphs [] arities [] {
  // expected-error @+1 {{expects a value for a constant, and only for one}}
  %0 = model.buffer constant "c" rows one of 0 : tensor<4xf32>
}

// -----

model.entry @value_without_constant graphs [] arities [] {
  // expected-error @+1 {{expects a value for a constant, and only for one}}
  %0 = model.buffer input "x" rows one of 0 = dense<1.0> : tensor<4xf32> : tensor<4xf32>
}

// -----

model.entry @launch_places graphs [] arities [] {
  %0 = model.buffer dynamic "" rows one of 0 : tensor<4xf32>
  model.phase "shared" rows one of 0 {
    // expected-error @+1 {{expects a #model.at for each of its 1 operands}}
    model.launch @kernel(%0) at [] results 0 flops 0 bytes 0
  }
}

// -----

model.entry @launch_results graphs [] arities [] {
  %0 = model.buffer dynamic "" rows one of 0 : tensor<4xf32>
  model.phase "shared" rows one of 0 {
    // expected-error @+1 {{expects at most as many results as operands}}
    model.launch @kernel(%0) at [#model.at<row 0, 0 for 4>] results 2 flops 0 bytes 0
  }
}

// -----

// An access by id needs the ids.
model.entry @launch_ids graphs [] arities [] {
  %0 = model.buffer dynamic "" rows one of 0 : tensor<4xf32>
  model.phase "shared" rows one of 0 {
    // expected-error @+1 {{expects a buffer of ids for each operand with an `id` access}}
    model.launch @kernel(%0) at [#model.at<id 0, 0 for 4>] results 1 flops 0 bytes 0
  }
}

// -----

// A step belongs to a phase.
model.entry @step_outside_of_phase graphs [] arities [] {
  %0 = model.buffer dynamic "" rows one of 0 : tensor<4xf32>
  // expected-error @+1 {{expects parent op 'model.phase'}}
  model.copy %0 <row 0, 0 for 4> to %0 <row 0, 0 for 4>
}

// -----

// expected-error @+1 {{expects parent op 'model.entry'}}
%0 = model.buffer dynamic "" rows one of 0 : tensor<4xf32>

// -----

// expected-error @+1 {{expects an arity, what it is the reverse of, and whether it is shared, for each of its 2 graphs}}
model.entry @arities graphs ["a", "b"] arities [1] {
}

// -----

// expected-error @+1 {{expects an arity, what it is the reverse of, and whether it is shared, for each of its 2 graphs}}
model.entry @reverses graphs ["a", "b"] arities [1, 1] reverse_of [0] {
}

// -----

// expected-error @+1 {{expects an arity, what it is the reverse of, and whether it is shared, for each of its 2 graphs}}
model.entry @shared graphs ["a", "b"] arities [1, 1] shared [true] {
}

// -----

// expected-error @+1 {{has graph #0 as the reverse of graph #1; expects an argument before it}}
model.entry @reverse_of_later graphs ["a", "b"] arities [1, 1] reverse_of [2, 0] {
}

// -----

// expected-error @+1 {{has graph #2 as the reverse of graph #1; expects an argument before it}}
model.entry @reverse_of_reverse graphs ["a", "b", "c"] arities [1, 1, 1] reverse_of [0, 1, 2] {
}

// -----

// expected-error @+1 {{expects a number of types, and the field that has them, for each of its 2 graphs}}
model.entry @types graphs ["a", "b"] arities [1, 1] types [2] by ["kind", ""] {
}

// -----

// expected-error @+1 {{expects a number of types, and the field that has them, for each of its 2 graphs}}
model.entry @type_fields graphs ["a", "b"] arities [1, 1] types [1, 2] by ["kind"] {
}
