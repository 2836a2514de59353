// What the verifiers of the vertex dialect reject, rule by rule.
// RUN: espalier-opt %s -split-input-file -verify-diagnostics

//===----------------------------------------------------------------------===//
// func
//===----------------------------------------------------------------------===//

// A vertex function knows nothing of batches.
// expected-error @+1 {{[F1] expects parameter #0 to be a tensor of static shape (no batch dimension), but got 'tensor<?x8xf32>'}}
vertex.func @f1_parameter(%W: tensor<?x8xf32>) arity(0) {
}

// -----

// expected-error @+1 {{[F1] expects parameter #1 to be a tensor of static shape (no batch dimension), but got 'f32'}}
vertex.func @f1_scalar(%W: tensor<8xf32>, %s: f32) arity(0) {
}

// -----

// expected-error @+1 {{[F1] expects parameter #0 to have elements of f32, f64, i32 or i1, but got 'tensor<8xf16>'}}
vertex.func @f1_element(%W: tensor<8xf16>) arity(0) {
}

// -----

// expected-error @+1 {{[F1] expects state #0 to be a tensor of static shape (no batch dimension), but got 'tensor<?xf32>'}}
vertex.func @f1_state(%W: tensor<8xf32>) state(tensor<?xf32>) arity(0) {
}

// -----

vertex.func @f1_value() arity(0) {
  // expected-error @+1 {{[F1] expects result #0 to be a tensor of static shape (no batch dimension), but got 'f32'}}
  %0 = arith.constant 1.0 : f32
}

// -----

vertex.func @f1_wide_integers() arity(0) {
  // expected-error @+1 {{[F1] expects result #0 to have elements of f32, f64, i32 or i1, but got 'tensor<2xi64>'}}
  %0 = arith.constant dense<1> : tensor<2xi64>
}

// -----

vertex.func @f2_second_scatter(%b: tensor<8xf32>) state(tensor<8xf32>) arity(0) {
  // expected-note @+1 {{the first is here}}
  vertex.scatter %b : tensor<8xf32>
  // expected-error @+1 {{[F2] is the second scatter of @f2_second_scatter; a vertex has one state}}
  vertex.scatter %b : tensor<8xf32>
}

// -----

// expected-error @+1 {{[F2] has 1 state tensors, but no scatter}}
vertex.func @f2_no_scatter(%b: tensor<8xf32>) state(tensor<8xf32>) arity(1) {
}

// -----

vertex.func @f2_scatter_without_state(%b: tensor<8xf32>) arity(1) {
  // expected-error @+1 {{[F2] is in @f2_scatter_without_state, which has no state}}
  vertex.scatter %b : tensor<8xf32>
}

// -----

vertex.func @f2_gather_without_state() arity(1) {
  // expected-error @+1 {{[F2] is in @f2_gather_without_state, which has no state}}
  %0 = vertex.gather 0 : tensor<8xf32>
}

// -----

// [F3] is SSA order, which MLIR checks.
vertex.func @f3() state(tensor<8xf32>) arity(1) {
  // expected-error @+1 {{operand #0 does not dominate this use}}
  vertex.scatter %h : tensor<8xf32>
  // expected-note @+1 {{operand defined here}}
  %h = vertex.gather 0 : tensor<8xf32>
}

// -----

vertex.func @f4_pull() arity(0) {
  %0 = vertex.pull "x" : tensor<8xf32>
  // expected-error @+1 {{[F4] pulls "x" as 'tensor<4xf32>', but it was pulled as 'tensor<8xf32>' before}}
  %1 = vertex.pull "x" : tensor<4xf32>
}

// -----

vertex.func @f4_push(%b: tensor<8xf32>) arity(0) {
  vertex.push "b" %b : tensor<8xf32>
  // expected-error @+1 {{[F4] pushes "b" a second time}}
  vertex.push "b" %b : tensor<8xf32>
}

// -----

// expected-error @+1 {{[F5] names the leaf variant @nowhere, which is no vertex.func of this module}}
vertex.func @f5_missing() arity(1) leaf(@nowhere) {
}

// -----

func.func private @some_function()

// expected-error @+1 {{[F5] names the leaf variant @some_function, which is no vertex.func of this module}}
vertex.func @f5_other_function() arity(1) leaf(@some_function) {
}

// -----

// expected-error @+1 {{[F5] expects a leaf variant of arity 0, but @f5_arity has arity 1}}
vertex.func @f5_arity() arity(1) leaf(@f5_arity) {
}

// -----

// expected-error @+1 {{[F5] expects the leaf variant @f5_parameters.leaf to have the same parameters and state}}
vertex.func @f5_parameters(%b: tensor<8xf32>) arity(1) leaf(@f5_parameters.leaf) {
}
vertex.func @f5_parameters.leaf() arity(0) {
}

// -----

// expected-error @+1 {{[F5] expects the leaf variant @f5_state.leaf to have the same parameters and state}}
vertex.func @f5_state(%b: tensor<8xf32>) state(tensor<8xf32>) arity(1) leaf(@f5_state.leaf) {
  vertex.scatter %b : tensor<8xf32>
}
vertex.func @f5_state.leaf(%b: tensor<8xf32>) arity(0) {
}

// -----

// expected-error @+1 {{[F5] expects the leaf variant @f5_pushes.leaf to push the same names and types}}
vertex.func @f5_pushes(%b: tensor<8xf32>) arity(1) leaf(@f5_pushes.leaf) {
  vertex.push "h" %b : tensor<8xf32>
}
vertex.func @f5_pushes.leaf(%b: tensor<8xf32>) arity(0) {
  vertex.push "c" %b : tensor<8xf32>
}

// -----

func.func private @print()

vertex.func @f6() arity(0) {
  // expected-error @+1 {{[F6] has side effects, which a vertex function cannot have}}
  func.call @print() : () -> ()
}

// -----

// expected-error @+1 {{expects no results; a vertex function scatters and pushes}}
"vertex.func"() <{arity = 1 : i64, function_type = () -> (tensor<2xf32>), state = [], sym_name = "results"}> ({
^bb0:
}) : () -> ()

// -----

// expected-error @+1 {{attribute 'arity' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
vertex.func @negative_arity() arity(-1) {
}

// -----

//===----------------------------------------------------------------------===//
// gather, scatter, pull, push
//===----------------------------------------------------------------------===//

vertex.func @g1(%b: tensor<8xf32>) state(tensor<8xf32>) arity(2) {
  // expected-error @+1 {{[G1] reads child slot 2, but the function's arity is 2}}
  %0 = vertex.gather 2 : tensor<8xf32>
  vertex.scatter %0 : tensor<8xf32>
}

// -----

vertex.func @g1_no_children(%b: tensor<8xf32>) state(tensor<8xf32>) arity(0) {
  // expected-error @+1 {{[G1] reads child slot 0, but the function's arity is 0}}
  %0 = vertex.gather 0 : tensor<8xf32>
  vertex.scatter %0 : tensor<8xf32>
}

// -----

vertex.func @g2(%b: tensor<8xf32>) state(tensor<8xf32>) arity(1) {
  // expected-error @+1 {{[G2] expects the state types ('tensor<8xf32>'), but got ('tensor<4xf32>')}}
  %0 = vertex.gather 0 : tensor<4xf32>
  vertex.scatter %b : tensor<8xf32>
}

// -----

vertex.func @g2_count(%b: tensor<8xf32>) state(tensor<8xf32>, tensor<8xf32>) arity(1) {
  // expected-error @+1 {{[G2] expects the state types ('tensor<8xf32>', 'tensor<8xf32>'), but got ('tensor<8xf32>')}}
  %0 = vertex.gather 0 : tensor<8xf32>
  vertex.scatter %0, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

vertex.func @s1(%b: tensor<4xf32>) state(tensor<8xf32>) arity(0) {
  // expected-error @+1 {{[S1] expects the state types ('tensor<8xf32>'), but got ('tensor<4xf32>')}}
  vertex.scatter %b : tensor<4xf32>
}

// -----

func.func @outside_of_vertex_function(%x: tensor<8xf32>) {
  // expected-error @+1 {{expects parent op 'vertex.func'}}
  vertex.push "x" %x : tensor<8xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// apply
//===----------------------------------------------------------------------===//

func.func @a1(%g: !vertex.graph) {
  // expected-error @+1 {{[A1] applies @nowhere, which is no vertex.func of this module}}
  vertex.apply @nowhere() over %g : (), () -> ()
  return
}

// -----

func.func private @callee()

func.func @a1_other_function(%g: !vertex.graph) {
  // expected-error @+1 {{[A1] applies @callee, which is no vertex.func of this module}}
  vertex.apply @callee() over %g : (), () -> ()
  return
}

// -----

// expected-note @+1 {{applied function}}
vertex.func @f(%b: tensor<8xf32>) arity(0) {
}

func.func @a2_count(%g: !vertex.graph) {
  // expected-error @+1 {{[A2] expects parameters of types ('tensor<8xf32>'), but got ()}}
  vertex.apply @f() over %g : (), () -> ()
  return
}

// -----

// expected-note @+1 {{applied function}}
vertex.func @f(%b: tensor<8xf32>) arity(0) {
}

func.func @a2_type(%g: !vertex.graph, %b: tensor<4xf32>) {
  // expected-error @+1 {{[A2] expects parameters of types ('tensor<8xf32>'), but got ('tensor<4xf32>')}}
  vertex.apply @f(%b) over %g : (tensor<4xf32>), () -> ()
  return
}

// -----

// [P1] is checked where the name is bound.
vertex.func @f() arity(0) {
  // expected-note @+1 {{pulled here}}
  %x = vertex.pull "x" : tensor<8xf32>
}

func.func @a3_pull_p1_unbound(%g: !vertex.graph) {
  // expected-error @+1 {{[A3] does not bind "x", which @f pulls}}
  vertex.apply @f() over %g : (), () -> ()
  return
}

// -----

vertex.func @f() arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
}

func.func @a3_twice(%g: !vertex.graph, %x: tensor<?x8xf32>) {
  // expected-error @+1 {{[A3] binds "x" twice}}
  vertex.apply @f() over %g pull("x" = %x, "x" = %x) : (), (tensor<?x8xf32>, tensor<?x8xf32>) -> ()
  return
}

// -----

vertex.func @f() arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
}

func.func @a3_pull_p1_type(%g: !vertex.graph, %x: tensor<?x4xf32>) {
  // expected-error @+1 {{[A3] expects "x" to be 'tensor<?x8xf32>', but got 'tensor<?x4xf32>'}}
  vertex.apply @f() over %g pull("x" = %x) : (), (tensor<?x4xf32>) -> ()
  return
}

// -----

vertex.func @f() arity(0) {
}

func.func @a3_names(%g: !vertex.graph, %x: tensor<?x8xf32>) {
  // expected-error @+1 {{[A3] has 0 pull names for 1 pulled tensors}}
  "vertex.apply"(%g, %x) <{callees = [@f], operandSegmentSizes = array<i32: 0, 1, 1>, pull_names = [], push_names = []}>
      : (!vertex.graph, tensor<?x8xf32>) -> ()
  return
}

// -----

vertex.func @f(%b: tensor<8xf32>) arity(0) {
  // expected-note @+1 {{pushed here}}
  vertex.push "b" %b : tensor<8xf32>
}

func.func @a4_not_listed(%g: !vertex.graph, %b: tensor<8xf32>) {
  // expected-error @+1 {{[A4] does not list "b", which @f pushes}}
  vertex.apply @f(%b) over %g : (tensor<8xf32>), () -> ()
  return
}

// -----

vertex.func @f() arity(0) {
}

func.func @a4_not_pushed(%g: !vertex.graph) {
  // expected-error @+1 {{[A4] lists "b", which @f does not push}}
  %0 = vertex.apply @f() over %g -> "b" : (), () -> tensor<?x8xf32>
  return
}

// -----

vertex.func @f(%b: tensor<8xf32>) arity(0) {
  vertex.push "b" %b : tensor<8xf32>
}

func.func @a4_twice(%g: !vertex.graph, %b: tensor<8xf32>) {
  // expected-error @+1 {{[A4] lists "b" twice}}
  %0:2 = vertex.apply @f(%b) over %g -> "b", "b" : (tensor<8xf32>), () -> (tensor<?x8xf32>, tensor<?x8xf32>)
  return
}

// -----

vertex.func @f(%b: tensor<8xf32>) arity(0) {
  vertex.push "b" %b : tensor<8xf32>
}

func.func @a4_type(%g: !vertex.graph, %b: tensor<8xf32>) {
  // expected-error @+1 {{[A4] expects "b" to be 'tensor<?x8xf32>', but got 'tensor<8xf32>'}}
  %0 = vertex.apply @f(%b) over %g -> "b" : (tensor<8xf32>), () -> tensor<8xf32>
  return
}

// -----

vertex.func @f(%b: tensor<8xf32>) arity(0) {
  vertex.push "b" %b : tensor<8xf32>
}

func.func @a4_names(%g: !vertex.graph, %b: tensor<8xf32>) {
  // expected-error @+1 {{[A4] has 0 push names for 1 results}}
  %0 = vertex.apply @f(%b) over %g : (tensor<8xf32>), () -> tensor<?x8xf32>
  return
}

// -----

func.func @roots_of_one_row(%g: !vertex.graph, %x: tensor<8xf32>) {
  // expected-error @+1 {{expects rows (a leading dynamic dimension, the others static), but got 'tensor<8xf32>'}}
  %0 = vertex.roots %g, %x : tensor<8xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Row operators
//===----------------------------------------------------------------------===//

func.func @t1_count(%g: !vertex.graph) {
  // expected-error @+1 {{[T1] expects block arguments for 1 states and 0 eager tensors, with their types}}
  %0 = vertex.tasks %g arity 1 states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>, %x: tensor<?x8xf32>):
    vertex.yield(%x) : tensor<?x8xf32>
  }
  return
}

// -----

func.func @t1_type(%g: !vertex.graph, %x: tensor<?x4xf32>) {
  // expected-error @+1 {{[T1] expects block arguments for 1 states and 1 eager tensors, with their types}}
  %0 = vertex.tasks %g arity 1 eager(%x : tensor<?x4xf32>) states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>, %e: tensor<?x8xf32>):
    vertex.yield(%e) : tensor<?x8xf32>
  }
  return
}

// -----

func.func @t2_types(%g: !vertex.graph) {
  // expected-error @+1 {{[T2] expects the yielded types to be the result types}}
  %0 = vertex.tasks %g arity 1 states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>):
    vertex.yield
  }
  return
}

// -----

func.func @t2_states(%g: !vertex.graph) {
  // expected-error @+1 {{[T2] has 2 states, but only 1 results}}
  %0 = vertex.tasks %g arity 1 states 2 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>):
    vertex.yield(%done) : tensor<?x8xf32>
  }
  return
}

// -----

func.func @t3_count(%g: !vertex.graph, %l: tensor<?x8xf32>) {
  // expected-error @+1 {{[T3] expects 2 inits or none, but got 1}}
  %0:2 = vertex.tasks %g arity 1 init(%l : tensor<?x8xf32>) states 2 -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  ^bb0(%h: tensor<?x8xf32>, %c: tensor<?x8xf32>):
    vertex.yield(%h, %c) : tensor<?x8xf32>, tensor<?x8xf32>
  }
  return
}

// -----

func.func @t3_type(%g: !vertex.graph, %l: tensor<?x4xf32>) {
  // expected-error @+1 {{[T3] expects an init of type 'tensor<?x8xf32>', but got 'tensor<?x4xf32>'}}
  %0 = vertex.tasks %g arity 1 init(%l : tensor<?x4xf32>) states 1 -> (tensor<?x8xf32>) {
  ^bb0(%h: tensor<?x8xf32>):
    vertex.yield(%h) : tensor<?x8xf32>
  }
  return
}

// -----

func.func @t4(%g: !vertex.graph) {
  %0 = vertex.tasks %g arity 1 states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>):
    // expected-error @+1 {{[T4] reads child slot 1, but the loop's arity is 1}}
    %c = vertex.gather_rows %done[1] : tensor<?x8xf32>
    vertex.yield(%c) : tensor<?x8xf32>
  }
  return
}

// -----

func.func @r1_outside(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{[R1] expects a state argument of the enclosing vertex.tasks}}
  %c = vertex.gather_rows %x[0] : tensor<?x8xf32>
  return
}

// -----

// An eager tensor has no rows of children.
func.func @r1_eager(%g: !vertex.graph, %x: tensor<?x8xf32>) {
  %0 = vertex.tasks %g arity 1 eager(%x : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>, %e: tensor<?x8xf32>):
    // expected-error @+1 {{[R1] expects a state argument of the enclosing vertex.tasks}}
    %c = vertex.gather_rows %e[0] : tensor<?x8xf32>
    vertex.yield(%c) : tensor<?x8xf32>
  }
  return
}

// -----

func.func @static_rows(%g: !vertex.graph, %x: tensor<3x8xf32>) {
  // expected-error @+1 {{must be ranked tensor whose leading dimension, and only that, is dynamic, but got 'tensor<3x8xf32>'}}
  %0 = vertex.pull_rows %g, %x : tensor<3x8xf32>
  return
}

// -----

// A condition lives inside a kernel; a state lies in memory.
// expected-error @+1 {{[F1] expects state #0 to have elements of f32, f64 or i32, but got 'tensor<2xi1>'}}
vertex.func @f1_condition_as_state() state(tensor<2xi1>) arity(1) {
  %g = vertex.gather 0 : tensor<2xi1>
  vertex.scatter %g : tensor<2xi1>
}

// -----

// An absent child's integer state is 0.
vertex.func @f6_division() state(tensor<2xi32>) arity(1) {
  %g = vertex.gather 0 : tensor<2xi32>
  // expected-error @+1 {{[F6] is undefined for some operands, such as an integer divisor of 0, which may be an absent child's state; make the divisor a constant}}
  %y = arith.divsi %g, %g : tensor<2xi32>
  vertex.scatter %y : tensor<2xi32>
}

// -----

vertex.func @f6_remainder() state(tensor<2xi32>) arity(1) {
  %g = vertex.gather 0 : tensor<2xi32>
  // expected-error @+1 {{[F6] is undefined for some operands}}
  %y = arith.remui %g, %g : tensor<2xi32>
  vertex.scatter %y : tensor<2xi32>
}

// -----

// expected-error @+1 {{[F7] has arity 2147483648, but vertices have at most 2147483647 child slots}}
vertex.func @f7_too_many_slots() arity(2147483648) {
}

// -----

//===----------------------------------------------------------------------===//
// Reversed functions
//===----------------------------------------------------------------------===//

vertex.func @f8_gather() state(tensor<8xf32>) arity(1) reversed {
  // expected-error @+1 {{[F8] does not belong in @f8_gather, which is reversed: it gathers from parents and scatters to children}}
  %h = vertex.gather 0 : tensor<8xf32>
}

// -----

vertex.func @f8_scatter() state(tensor<8xf32>) arity(1) reversed {
  %d = vertex.gather_parents : tensor<8xf32>
  // expected-error @+1 {{[F8] does not belong in @f8_scatter}}
  vertex.scatter %d : tensor<8xf32>
}

// -----

vertex.func @f8_gather_parents() state(tensor<8xf32>) arity(1) {
  // expected-error @+1 {{[F8] does not belong in @f8_gather_parents, which is not reversed}}
  %d = vertex.gather_parents : tensor<8xf32>
  vertex.scatter %d : tensor<8xf32>
}

// -----

vertex.func @f8_scatter_child(%b: tensor<8xf32>) state(tensor<8xf32>) arity(1) {
  // expected-error @+1 {{[F8] does not belong in @f8_scatter_child, which is not reversed}}
  vertex.scatter_child 0 %b : tensor<8xf32>
  vertex.scatter %b : tensor<8xf32>
}

// -----

vertex.func @b1() state(tensor<8xf32>) arity(1) reversed {
  // expected-error @+1 {{[B1] expects the state types ('tensor<8xf32>'), but got ('tensor<4xf32>')}}
  %d = vertex.gather_parents : tensor<4xf32>
}

// -----

vertex.func @b1_without_state() arity(1) reversed {
  // expected-error @+1 {{[F2] is in @b1_without_state, which has no state}}
  %d = vertex.gather_parents : tensor<4xf32>
}

// -----

vertex.func @b2(%x: tensor<8xf32>) state(tensor<8xf32>) arity(1) reversed {
  // expected-error @+1 {{[B2] expects the state types ('tensor<8xf32>'), but got ('tensor<8xf32>', 'tensor<8xf32>')}}
  vertex.scatter_child 0 %x, %x : tensor<8xf32>, tensor<8xf32>
}

// -----

vertex.func @b3(%x: tensor<8xf32>) state(tensor<8xf32>) arity(1) reversed {
  // expected-error @+1 {{[B3] names child slot 1, but the function's arity is 1}}
  vertex.scatter_child 1 %x : tensor<8xf32>
}

// -----

vertex.func @b3_twice(%x: tensor<8xf32>) state(tensor<8xf32>) arity(2) reversed {
  vertex.scatter_child 1 %x : tensor<8xf32>
  // expected-error @+1 {{[B3] scatters to slot 1 a second time}}
  vertex.scatter_child 1 %x : tensor<8xf32>
}

// -----

vertex.func @p2() arity(2) {
  // expected-error @+1 {{[P2] names child slot 2, but the function's arity is 2}}
  %x = vertex.pull_child "x" 2 : tensor<8xf32>
}

// -----

// A child's row and a vertex's own row come from the same tensor.
vertex.func @f4_pull_child() arity(1) {
  %x = vertex.pull "x" : tensor<8xf32>
  // expected-error @+1 {{[F4] pulls "x" as 'tensor<4xf32>', but it was pulled as 'tensor<8xf32>' before}}
  %y = vertex.pull_child "x" 0 : tensor<4xf32>
}

// -----

vertex.func @f4_push_and_reduce(%b: tensor<8xf32>) arity(0) {
  vertex.push "y" %b : tensor<8xf32>
  // expected-error @+1 {{[F4] pushes "y" a second time}}
  vertex.reduce "y" %b : tensor<8xf32>
}

// -----

vertex.func @f() arity(1) {
  // expected-note @+1 {{pulled here}}
  %x = vertex.pull_child "x" 0 : tensor<8xf32>
}
func.func @a3_pull_child_p1_unbound(%g: !vertex.graph) {
  // expected-error @+1 {{[A3] does not bind "x", which @f pulls}}
  vertex.apply @f() over %g : (), () -> ()
  return
}

// -----

vertex.func @f() arity(1) {
  %x = vertex.pull_child "x" 0 : tensor<8xf32>
}
func.func @a3_pull_child_p1_type(%g: !vertex.graph, %x: tensor<?x4xf32>) {
  // expected-error @+1 {{[A3] expects "x" to be 'tensor<?x8xf32>', but got 'tensor<?x4xf32>'}}
  vertex.apply @f() over %g pull("x" = %x) : (), (tensor<?x4xf32>) -> ()
  return
}

// -----

// What is reduced has no rows.
vertex.func @f(%b: tensor<8xf32>) arity(0) {
  vertex.reduce "db" %b : tensor<8xf32>
}
func.func @a4_rows_of_reduced(%g: !vertex.graph, %b: tensor<8xf32>) {
  // expected-error @+1 {{[A4] expects "db" to be 'tensor<8xf32>', but got 'tensor<?x8xf32>'}}
  %0 = vertex.apply @f(%b) over %g -> "db" : (tensor<8xf32>), () -> tensor<?x8xf32>
  return
}

// -----

vertex.func @f(%b: tensor<8xf32>) arity(0) {
  // expected-note @+1 {{pushed here}}
  vertex.reduce "db" %b : tensor<8xf32>
}
func.func @a4_reduced_not_listed(%g: !vertex.graph, %b: tensor<8xf32>) {
  // expected-error @+1 {{[A4] does not list "db", which @f pushes}}
  vertex.apply @f(%b) over %g : (tensor<8xf32>), () -> ()
  return
}

// -----

// A leaf variant runs in the direction of its function.
// expected-error @+1 {{[F5] expects the leaf variant @leaf to have the same parameters and state}}
vertex.func @f5_direction() state(tensor<8xf32>) arity(1) leaf(@leaf) reversed {
}
vertex.func @leaf() state(tensor<8xf32>) arity(0) {
  %x = vertex.pull "x" : tensor<8xf32>
  vertex.scatter %x : tensor<8xf32>
}

// -----

func.func @at_roots_of_one_row(%g: !vertex.graph, %x: tensor<8xf32>) {
  // expected-error @+1 {{expects rows (a leading dynamic dimension, the others static), but got 'tensor<8xf32>'}}
  %0 = vertex.at_roots %g, %x : tensor<8xf32>
  return
}

// -----

func.func @v1_count(%g: !vertex.graph) {
  // expected-error @+1 {{[V2] has 2 states, but only 1 results}}
  %0 = vertex.reversed_tasks %g arity 1 states 2 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>):
    vertex.yield(%done) : tensor<?x8xf32>
  }
  return
}

// -----

func.func @v1_arguments(%g: !vertex.graph, %x: tensor<?x4xf32>) {
  // expected-error @+1 {{[V1] expects block arguments for 1 states and 1 eager tensors, with their types}}
  %0 = vertex.reversed_tasks %g arity 1 eager(%x : tensor<?x4xf32>) states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>, %e: tensor<?x8xf32>):
    vertex.yield(%done) : tensor<?x8xf32>
  }
  return
}

// -----

func.func @v2(%g: !vertex.graph) {
  // expected-error @+1 {{[V2] expects the yielded types to be the result types}}
  %0 = vertex.reversed_tasks %g arity 1 states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>):
    vertex.yield
  }
  return
}

// -----

func.func @r2(%g: !vertex.graph, %x: tensor<?x12xf32>) {
  // expected-error @+1 {{[R2] expects a multiple of the columns of 'tensor<?x8xf32>', but got 'tensor<?x12xf32>'}}
  %0 = vertex.gather_parent_rows %g, %x : tensor<?x12xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @r2_element(%g: !vertex.graph, %x: tensor<?x16xf64>) {
  // expected-error @+1 {{[R2] expects a multiple of the columns of 'tensor<?x8xf32>', but got 'tensor<?x16xf64>'}}
  %0 = vertex.gather_parent_rows %g, %x : tensor<?x16xf64> -> tensor<?x8xf32>
  return
}

// -----

// Rows of matrices are slots of matrices.
func.func @r2_inner_dimension(%g: !vertex.graph, %x: tensor<?x4x6xf32>) {
  // expected-error @+1 {{[R2] expects a multiple of the columns of 'tensor<?x2x3xf32>', but got 'tensor<?x4x6xf32>'}}
  %0 = vertex.gather_parent_rows %g, %x : tensor<?x4x6xf32> -> tensor<?x2x3xf32>
  return
}

// -----

func.func @r2_scalar(%g: !vertex.graph, %x: tensor<?xf32>) {
  // expected-error @+1 {{[R2] expects a multiple of the columns of 'tensor<?xf32>', but got 'tensor<?xf32>'}}
  %0 = vertex.gather_parent_rows %g, %x : tensor<?xf32> -> tensor<?xf32>
  return
}

// -----

func.func @w1_reversed_twice(%g: !vertex.graph) -> !vertex.graph {
  // expected-note @+1 {{apply over its operand instead}}
  %0 = vertex.reverse %g : !vertex.graph
  // expected-error @+1 {{[W1] reverses a graph that is reversed}}
  %1 = vertex.reverse %0 : !vertex.graph
  return %1 : !vertex.graph
}

// -----

func.func @segment_sum_of_one_row(%g: !vertex.graph, %x: tensor<8xf32>) {
  // expected-error @+1 {{expects rows (a leading dynamic dimension, the others static), but got 'tensor<8xf32>'}}
  %0 = vertex.segment_sum %g, %x : tensor<8xf32>
  return
}

// -----

func.func @segment_max_of_integers(%g: !vertex.graph, %x: tensor<?xi32>) {
  // expected-error @+1 {{expects rows of floats, but got 'tensor<?xi32>'}}
  %0 = vertex.segment_max %g, %x : tensor<?xi32>
  return
}

// -----

func.func @spread_of_two_dynamic_dimensions(%g: !vertex.graph, %x: tensor<?x?xf32>) {
  // expected-error @+1 {{expects rows (a leading dynamic dimension, the others static), but got 'tensor<?x?xf32>'}}
  %0 = vertex.spread_structures %g, %x : tensor<?x?xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Regions over children
//===----------------------------------------------------------------------===//

vertex.func @m1() state(tensor<8xf32>) arity(0) {
  // expected-error @+1 {{[M1] expects the state types ('tensor<8xf32>'), but got ('tensor<4xf32>')}}
  %s = vertex.map_children sum {
  ^bb0(%h: tensor<4xf32>):
    vertex.yield(%h) : tensor<4xf32>
  } : tensor<4xf32>
}

// -----

vertex.func @m2() state(tensor<8xf32>) arity(0) {
  // expected-error @+1 {{[M2] expects its region to yield ('tensor<4xf32>')}}
  %s = vertex.map_children max {
  ^bb0(%h: tensor<8xf32>):
    vertex.yield(%h) : tensor<8xf32>
  } : tensor<4xf32>
}

// -----

vertex.func @map_children_m3(%d: tensor<8xi32>) state(tensor<8xi32>) arity(0) {
  %s = vertex.map_children sum {
  ^bb0(%h: tensor<8xi32>):
    // expected-error @+1 {{[M3] cannot be evaluated for every child}}
    %q = arith.divsi %d, %h : tensor<8xi32>
    vertex.yield(%q) : tensor<8xi32>
  } : tensor<8xi32>
  vertex.scatter %s : tensor<8xi32>
}

// -----

vertex.func @b4() state(tensor<8xf32>) arity(0) reversed {
  // expected-error @+1 {{[B4] expects its region to yield ('tensor<8xf32>', 'tensor<4xf32>')}}
  %s = vertex.scatter_children ["h"] {
  ^bb0(%h: tensor<8xf32>):
    vertex.yield(%h) : tensor<8xf32>
  } : tensor<4xf32>
}

// -----

vertex.func @b4_names() state(tensor<8xf32>) arity(0) reversed {
  // expected-error @+1 {{[B4] expects an argument for each of 2 pulled names}}
  vertex.scatter_children ["h", "c"] {
  ^bb0(%h: tensor<8xf32>):
    vertex.yield(%h) : tensor<8xf32>
  }
}

// -----

vertex.func @scatter_children_m3(%d: tensor<8xi32>) state(tensor<8xi32>) arity(0) reversed {
  vertex.scatter_children ["h"] {
  ^bb0(%h: tensor<8xi32>):
    // expected-error @+1 {{[M3] cannot be evaluated for every child}}
    %q = arith.divsi %d, %h : tensor<8xi32>
    vertex.yield(%q) : tensor<8xi32>
  }
}

// -----

vertex.func @f8_map_children() state(tensor<8xf32>) arity(0) reversed {
  // expected-error @+1 {{[F8] does not belong in @f8_map_children, which is reversed}}
  %s = vertex.map_children sum {
  ^bb0(%h: tensor<8xf32>):
    vertex.yield(%h) : tensor<8xf32>
  } : tensor<8xf32>
}

// -----

vertex.func @f() arity(0) {
}
vertex.func @h() arity(0) {
}

func.func @a5_no_field(%g: !vertex.graph) {
  // expected-error @+1 {{[A5] applies 2 functions; name the field that has the type of each vertex: by "type"}}
  vertex.apply [@f, @h]() over %g : (), () -> ()
  return
}

// -----

vertex.func @f() arity(0) {
}

func.func @a5_one_function(%g: !vertex.graph) {
  // expected-error @+1 {{[A5] chooses by the field "type", but applies one function only}}
  vertex.apply @f by "type" () over %g : (), () -> ()
  return
}

// -----

vertex.func @f() state(tensor<8xf32>) arity(1) {
  %0 = vertex.gather 0 : tensor<8xf32>
  vertex.scatter %0 : tensor<8xf32>
}
// expected-note @+1 {{applied function}}
vertex.func @h() state(tensor<4xf32>) arity(1) {
  %0 = vertex.gather 0 : tensor<4xf32>
  vertex.scatter %0 : tensor<4xf32>
}

func.func @a6_states(%g: !vertex.graph) {
  // expected-error @+1 {{[A6] expects @h to have the states of @f, ('tensor<8xf32>'), but it has ('tensor<4xf32>')}}
  vertex.apply [@f, @h] by "type" () over %g : (), () -> ()
  return
}

// -----

vertex.func @f() arity(0) {
}
// expected-note @+1 {{applied function}}
vertex.func @h(%b: tensor<8xf32>) arity(0) {
}

func.func @a2_of_the_second(%g: !vertex.graph) {
  // expected-error @+1 {{[A2] expects parameters of types ('tensor<8xf32>'), but got ()}}
  vertex.apply [@f, @h] by "type" () over %g : (), () -> ()
  return
}

// -----

vertex.func @f() arity(0) {
}
vertex.func @h() arity(0) {
  // expected-note @+1 {{pulled here}}
  %0 = vertex.pull "x" : tensor<8xf32>
}

func.func @a3_of_the_second(%g: !vertex.graph) {
  // expected-error @+1 {{[A3] does not bind "x", which @h pulls}}
  vertex.apply [@f, @h] by "type" () over %g : (), () -> ()
  return
}

// -----

vertex.func @f(%a: tensor<8xf32>, %b: tensor<4xf32>) arity(0) {
  vertex.push "y" %a : tensor<8xf32>
}
vertex.func @h(%a: tensor<8xf32>, %b: tensor<4xf32>) arity(0) {
  vertex.push "y" %b : tensor<4xf32>
}

func.func @a4_other_rows(%g: !vertex.graph, %a: tensor<8xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{[A4] expects "y" to be 'tensor<?x4xf32>', but got 'tensor<?x8xf32>'}}
  %y = vertex.apply [@f, @h] by "type" (%a, %b) over %g -> "y"
      : (tensor<8xf32>, tensor<4xf32>), () -> tensor<?x8xf32>
  return
}

// -----

vertex.func @f() arity(0) {
}
vertex.func @h() arity(0) {
}

func.func @a4_pushed_by_none(%g: !vertex.graph) {
  // expected-error @+1 {{[A4] lists "y", which @f and @h do not push}}
  %y = vertex.apply [@f, @h] by "type" () over %g -> "y" : (), () -> tensor<?x8xf32>
  return
}

// -----

func.func @j1(%l: tensor<?x8xf32>, %i: tensor<?x8xf32>) {
  // expected-error @+1 {{[J1] expects the rows of the leaves of each type, then those of the others of each, but got 3 pieces}}
  %0 = vertex.join_rows %l, %i, %i : tensor<?x8xf32>
  return
}

// -----

func.func @t3_of_types(%g: !vertex.graph, %l: tensor<?x8xf32>) {
  // expected-error @+1 {{[T3] expects 2 inits, but got 1}}
  %0 = vertex.tasks %g arity 1 init(%l : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>):
    vertex.yield(%done) : tensor<?x8xf32>
  }, {
  ^bb0(%done: tensor<?x8xf32>):
    vertex.yield(%done) : tensor<?x8xf32>
  }
  return
}

// -----

func.func @t1_of_types(%g: !vertex.graph, %l: tensor<?x8xf32>) {
  // expected-error @+1 {{[T1] expects block arguments for 1 states and 1 eager tensors, with their types}}
  %0 = vertex.tasks %g arity 1 init(%l, %l : tensor<?x8xf32>, tensor<?x8xf32>)
      eager(%l : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>):
    vertex.yield(%done) : tensor<?x8xf32>
  }, {
  ^bb0(%done: tensor<?x8xf32>):
    vertex.yield(%done) : tensor<?x8xf32>
  }
  return
}

// -----

func.func @h1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{[H1] expects to give a batch of floats, but gives 'tensor<?xi32>'}}
  %m = vertex.multiplicity %x : tensor<?x8xf32> -> tensor<?xi32>
  return
}

// -----

func.func @h1_rank(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{[H1] expects to give a batch of floats, but gives 'tensor<?x8xf32>'}}
  %m = vertex.multiplicity %x : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @multiplicity_of_one_row(%x: tensor<8xf32>) {
  // expected-error @+1 {{expects rows (a leading dynamic dimension, the others static), but got 'tensor<8xf32>'}}
  %m = vertex.multiplicity %x : tensor<8xf32> -> tensor<?xf32>
  return
}
