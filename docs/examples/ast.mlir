// The kind of every inner vertex of a syntax tree, from what is below it: a
// child-sum Tree-LSTM (Tai, Socher and Manning 2015, equations 2 to 8) over trees
// whose vertices have any number of children. A vertex's own kind enters its
// state, which its parent sees, but not the sum of its children's states that the
// classifier reads:
//
//   below = sum h_k              logits = below head.W + head.b
//   [i o u] = x W + below U + b  f_k = sigmoid(x W_f + h_k U_f + b_f)
//   c = i u + sum f_k c_k        h = o tanh(c)
//
// with i and o through sigmoid, u through tanh, and sums over the children k.
// There are up to 128 kinds.
//
// Entry `classify`: `logits`, a row a vertex; what those of leaves say is how
// often kinds occur.
// Entry `loss`, to train by: the cross entropy of the kind of every vertex that
// has children, and whether it is found.

vertex.func @child_sum(%W: tensor<64x384xf32>, %U: tensor<128x384xf32>,
                       %b: tensor<384xf32>, %W_f: tensor<64x128xf32>,
                       %U_f: tensor<128x128xf32>, %b_f: tensor<128xf32>)
    state(tensor<128xf32>, tensor<128xf32>) arity(0) {
  %x = vertex.pull "node" : tensor<64xf32>
  %wf = nn.dense %x, %W_f, %b_f
      : tensor<64xf32>, tensor<64x128xf32>, tensor<128xf32>
  %hs, %fc = vertex.map_children sum {
  ^bb0(%hk: tensor<128xf32>, %ck: tensor<128xf32>):
    %uf = nn.matmul %hk, %U_f : tensor<128xf32>, tensor<128x128xf32>
    %gf = arith.addf %wf, %uf : tensor<128xf32>
    %f = nn.sigmoid %gf : tensor<128xf32>
    %fck = arith.mulf %f, %ck : tensor<128xf32>
    vertex.yield(%hk, %fck) : tensor<128xf32>, tensor<128xf32>
  } : tensor<128xf32>, tensor<128xf32>

  %wx = nn.dense %x, %W, %b
      : tensor<64xf32>, tensor<64x384xf32>, tensor<384xf32>
  %uh = nn.matmul %hs, %U : tensor<128xf32>, tensor<128x384xf32>
  %gates = arith.addf %wx, %uh : tensor<384xf32>
  %gi = tensor.extract_slice %gates[0] [128] [1] : tensor<384xf32> to tensor<128xf32>
  %go = tensor.extract_slice %gates[128] [128] [1] : tensor<384xf32> to tensor<128xf32>
  %gu = tensor.extract_slice %gates[256] [128] [1] : tensor<384xf32> to tensor<128xf32>
  %i = nn.sigmoid %gi : tensor<128xf32>
  %o = nn.sigmoid %go : tensor<128xf32>
  %u = math.tanh %gu : tensor<128xf32>
  %iu = arith.mulf %i, %u : tensor<128xf32>
  %c = arith.addf %iu, %fc : tensor<128xf32>
  %tc = math.tanh %c : tensor<128xf32>
  %h = arith.mulf %o, %tc : tensor<128xf32>

  vertex.scatter %h, %c : tensor<128xf32>, tensor<128xf32>
  vertex.push "below" %hs : tensor<128xf32>
}

// The kind of a vertex that has children, otherwise -1, which is no label. A
// child's state is 1; that of an absent one is 0.
vertex.func @inner_only() state(tensor<f32>) arity(0) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %none = arith.constant dense<-1> : tensor<i32>
  %node = vertex.pull "node" : tensor<i32>
  %any = vertex.map_children max {
  ^bb0(%child: tensor<f32>):
    vertex.yield(%child) : tensor<f32>
  } : tensor<f32>
  %inner = arith.cmpf ogt, %any, %zero : tensor<f32>
  %label = arith.select %inner, %node, %none : tensor<i1>, tensor<i32>
  vertex.scatter %one : tensor<f32>
  vertex.push "label" %label : tensor<i32>
}

func.func @classify(
    %trees: !vertex.graph {nn.input = "trees"},
    %node: tensor<?xi32> {nn.input = "node"},
    %embedding: tensor<128x64xf32> {nn.param = "embedding"},
    %W: tensor<64x384xf32> {nn.param = "W"},
    %U: tensor<128x384xf32> {nn.param = "U"},
    %b: tensor<384xf32> {nn.param = "b"},
    %W_f: tensor<64x128xf32> {nn.param = "W_f"},
    %U_f: tensor<128x128xf32> {nn.param = "U_f"},
    %b_f: tensor<128xf32> {nn.param = "b_f"},
    %head_W: tensor<128x128xf32> {nn.param = "head.W"},
    %head_b: tensor<128xf32> {nn.param = "head.b"})
    -> (tensor<?x128xf32> {nn.output = "logits"}) {
  %x = nn.embedding %embedding[%node] : tensor<128x64xf32>, tensor<?xi32>
  %below = vertex.apply @child_sum(%W, %U, %b, %W_f, %U_f, %b_f) over %trees
      pull("node" = %x) -> "below"
      : (tensor<64x384xf32>, tensor<128x384xf32>, tensor<384xf32>,
         tensor<64x128xf32>, tensor<128x128xf32>, tensor<128xf32>),
        (tensor<?x64xf32>) -> tensor<?x128xf32>
  %logits = nn.dense %below, %head_W, %head_b
      : tensor<?x128xf32>, tensor<128x128xf32>, tensor<128xf32>
  return %logits : tensor<?x128xf32>
}

func.func @loss(
    %trees: !vertex.graph {nn.input = "trees"},
    %node: tensor<?xi32> {nn.input = "node"},
    %embedding: tensor<128x64xf32> {nn.param = "embedding"},
    %W: tensor<64x384xf32> {nn.param = "W"},
    %U: tensor<128x384xf32> {nn.param = "U"},
    %b: tensor<384xf32> {nn.param = "b"},
    %W_f: tensor<64x128xf32> {nn.param = "W_f"},
    %U_f: tensor<128x128xf32> {nn.param = "U_f"},
    %b_f: tensor<128xf32> {nn.param = "b_f"},
    %head_W: tensor<128x128xf32> {nn.param = "head.W"},
    %head_b: tensor<128xf32> {nn.param = "head.b"})
    -> (tensor<?xf32> {nn.output = "loss"},
        tensor<?xi32> {nn.output = "correct"}) {
  %x = nn.embedding %embedding[%node] : tensor<128x64xf32>, tensor<?xi32>
  %below = vertex.apply @child_sum(%W, %U, %b, %W_f, %U_f, %b_f) over %trees
      pull("node" = %x) -> "below"
      : (tensor<64x384xf32>, tensor<128x384xf32>, tensor<384xf32>,
         tensor<64x128xf32>, tensor<128x128xf32>, tensor<128xf32>),
        (tensor<?x64xf32>) -> tensor<?x128xf32>
  %label = vertex.apply @inner_only() over %trees
      pull("node" = %node) -> "label" : (), (tensor<?xi32>) -> tensor<?xi32>
  %logits = nn.dense %below, %head_W, %head_b
      : tensor<?x128xf32>, tensor<128x128xf32>, tensor<128xf32>
  %loss = nn.softmax_cross_entropy %logits, %label
      : tensor<?x128xf32>, tensor<?xi32>
  %correct = nn.correct %logits, %label : tensor<?x128xf32>, tensor<?xi32>
  return %loss, %correct : tensor<?xf32>, tensor<?xi32>
}
