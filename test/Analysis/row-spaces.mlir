// Rows that meet in an operator must stand for the same things, one by one.
// lower-to-model reports where they do not.
// RUN: espalier-opt %s -split-input-file --lower-to-model -verify-diagnostics

// Rows in the caller's order beside rows in schedule order.
func.func @order(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}) {
  %0 = vertex.pull_rows %g, %x : tensor<?x8xf32>
  // expected-error @+2 {{mixes rows of the vertices in the caller's order of graph #0 with rows of all vertices of graph #0}}
  // expected-note @+1 {{vertex.roots reads a row a structure from rows of vertices; vertex.apply works row by row}}
  %1 = tensor.concat dim(1) %x, %0 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  return
}

// -----

// A row a structure beside a row a vertex.
func.func @roots(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}) {
  %0 = vertex.roots %g, %x : tensor<?x8xf32>
  // expected-error @+2 {{mixes rows of the structures of graph #0 with rows of the vertices in the caller's order of graph #0}}
  // expected-note @+1 {{vertex.roots reads a row a structure from rows of vertices; vertex.apply works row by row}}
  %1 = tensor.concat dim(1) %0, %x : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  return
}

// -----

// Leaves' rows beside inner ones.
func.func @places(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}) {
  %0 = vertex.pull_rows %g, %x at leaves : tensor<?x8xf32>
  %1 = vertex.pull_rows %g, %x at inner : tensor<?x8xf32>
  // expected-error @+2 {{mixes rows of the leaves of graph #0 with rows of the inner vertices of graph #0}}
  // expected-note @+1 {{vertex.roots reads}}
  %2 = tensor.concat dim(1) %0, %1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  return
}

// -----

// The same vertices' rows, but of two graphs.
func.func @graphs(%a: !vertex.graph {nn.input = "a"}, %b: !vertex.graph {nn.input = "b"}, %x: tensor<?x8xf32> {nn.input = "x"}) {
  %0 = vertex.pull_rows %a, %x : tensor<?x8xf32>
  // expected-error @+1 {{mixes rows of the vertices in the caller's order of graph #0 with rows of the vertices in the caller's order of graph #1}}
  %1 = vertex.pull_rows %b, %x : tensor<?x8xf32>
  return
}

// -----

// The loop over inner vertices takes their rows only.
func.func @tasks(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}) {
  %l = vertex.pull_rows %g, %x at leaves : tensor<?x8xf32>
  %all = vertex.pull_rows %g, %x : tensor<?x8xf32>
  // expected-error @+2 {{mixes rows of all vertices of graph #0 with rows of the inner vertices of graph #0}}
  // expected-note @+1 {{vertex.roots reads}}
  %s = vertex.tasks %g arity 1 init(%l : tensor<?x8xf32>) eager(%all : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>, %t: tensor<?x8xf32>):
    vertex.yield(%t) : tensor<?x8xf32>
  }
  return
}

// -----

// With one graph, an input of rows that nothing else constrains has a row a
// vertex, in the caller's order: no error.
func.func @unconstrained(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}) -> (tensor<?x8xf32> {nn.output = "y"}) {
  return %x : tensor<?x8xf32>
}

// -----

// With none, or two, it could be anything.
// expected-error @+1 {{has 0 graph arguments, and nothing says whose rows argument #0 has}}
func.func @no_graph(%x: tensor<?x8xf32> {nn.input = "x"}) {
  return
}

// -----

// expected-error @+1 {{has 2 graph arguments, and nothing says whose rows argument #2 has}}
func.func @two_graphs(%a: !vertex.graph {nn.input = "a"}, %b: !vertex.graph {nn.input = "b"}, %x: tensor<?x8xf32> {nn.input = "x"}) {
  return
}

// -----

// A graph and its reverse have the same rows in the caller's order, and
// structures are the same of all graphs: no error.
func.func @same_rows(%g: !vertex.graph {nn.input = "g"}, %d: !vertex.graph {nn.input = "d"},
                     %x: tensor<?x8xf32> {nn.input = "x"}, %y: tensor<?x8xf32> {nn.input = "y"})
    -> (tensor<?x16xf32> {nn.output = "z"}, tensor<?x16xf32> {nn.output = "s"}) {
  %r = vertex.reverse %g : !vertex.graph
  %0 = vertex.pull_rows %r, %x : tensor<?x8xf32>
  %1 = vertex.push_rows %r, %0 : tensor<?x8xf32>
  %2 = vertex.pull_rows %g, %x : tensor<?x8xf32>
  %3 = tensor.concat dim(1) %1, %x : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  %4 = vertex.segment_sum %r, %x : tensor<?x8xf32>
  %5 = vertex.roots %d, %y : tensor<?x8xf32>
  %6 = tensor.concat dim(1) %4, %5 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  return %3, %6 : tensor<?x16xf32>, tensor<?x16xf32>
}

// -----

// In schedule order they have not.
func.func @other_schedule(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}) {
  %r = vertex.reverse %g : !vertex.graph
  %0 = vertex.pull_rows %g, %x : tensor<?x8xf32>
  %1 = vertex.pull_rows %r, %x : tensor<?x8xf32>
  // expected-error @+1 {{mixes rows of all vertices of graph #0 with rows of all vertices of graph #1}}
  %2 = tensor.concat dim(1) %0, %1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  return
}

// -----

// What is spread over the vertices of one graph are not those of the other.
func.func @spread_over_another(%g: !vertex.graph {nn.input = "g"}, %d: !vertex.graph {nn.input = "d"},
                               %x: tensor<?x8xf32> {nn.input = "x"}) {
  %0 = vertex.segment_max %g, %x : tensor<?x8xf32>
  %1 = vertex.spread_structures %d, %0 : tensor<?x8xf32>
  // expected-error @+1 {{mixes rows of the vertices in the caller's order of graph #0 with rows of the vertices in the caller's order of graph #1}}
  %2 = tensor.concat dim(1) %x, %1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  return
}

// -----

// A reverse is no argument: with one argument it is still clear whose rows an
// input has.
func.func @one_graph_and_its_reverse(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}) -> (tensor<?x8xf32> {nn.output = "y"}) {
  %r = vertex.reverse %g : !vertex.graph
  return %x : tensor<?x8xf32>
}

// -----

// A reversed loop over inner vertices takes their rows only, too.
func.func @reversed_tasks(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}) {
  %all = vertex.pull_rows %g, %x : tensor<?x8xf32>
  // expected-error @+2 {{mixes rows of all vertices of graph #0 with rows of the inner vertices of graph #0}}
  // expected-note @+1 {{vertex.roots reads}}
  %s = vertex.reversed_tasks %g at inner arity 1 eager(%all : tensor<?x8xf32>) states 1 -> (tensor<?x8xf32>) {
  ^bb0(%done: tensor<?x8xf32>, %t: tensor<?x8xf32>):
    vertex.yield(%t) : tensor<?x8xf32>
  }
  return
}

// -----

// Children are found among all vertices in schedule order.
func.func @child_rows(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}) {
  %i = vertex.pull_rows %g, %x at inner : tensor<?x8xf32>
  // expected-error @+2 {{mixes rows of the inner vertices of graph #0 with rows of all vertices of graph #0}}
  // expected-note @+1 {{vertex.roots reads}}
  %c = vertex.child_rows %g, %i[0] at inner : tensor<?x8xf32>
  return
}

// -----

// What leaves gather from parents is no row of others.
func.func @gather_parent_rows(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}) {
  %all = vertex.pull_rows %g, %x : tensor<?x8xf32>
  %p = vertex.gather_parent_rows %g, %all at leaves : tensor<?x8xf32> -> tensor<?x8xf32>
  // expected-error @+2 {{mixes rows of the leaves of graph #0 with rows of all vertices of graph #0}}
  // expected-note @+1 {{vertex.roots reads}}
  %s = tensor.concat dim(1) %p, %all : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  return
}

// -----

// at_roots reads a row a structure, and gives one a vertex.
func.func @at_roots(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x8xf32> {nn.input = "x"}) {
  %r = vertex.at_roots %g, %x : tensor<?x8xf32>
  // expected-error @+2 {{mixes rows of the vertices in the caller's order of graph #0 with rows of the structures of graph #0}}
  // expected-note @+1 {{vertex.roots reads}}
  %s = tensor.concat dim(1) %r, %x : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @types(%g: !vertex.graph, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %a = vertex.pull_rows %g, %x at leaves of 0 : tensor<?x8xf32>
  %b = vertex.pull_rows %g, %x at leaves of 1 : tensor<?x8xf32>
  // expected-error @+1 {{mixes rows of the leaves of type 0 of graph #0 with rows of the leaves of type 1 of graph #0}}
  %c = nn.elementwise(%a, %b) : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%p: tensor<8xf32>, %q: tensor<8xf32>):
    %0 = arith.addf %p, %q : tensor<8xf32>
    nn.yield %0 : tensor<8xf32>
  }
  return %c : tensor<?x8xf32>
}
