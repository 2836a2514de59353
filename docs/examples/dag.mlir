// How accurate a network will be, from its graph: a network on directed acyclic
// graphs whose vertices are the layers of the one that is judged (the task of
// Zhang et al. 2019, D-VAE). A vertex sees the mean of the states of the layers
// that it reads, its predecessors, of which there are any number:
//
//   m = mean h_k
//   h = tanh(layer_norm(x W + m U + b)) + m
//   score = h_root w + b_head
//
// Rows are brought to mean 0 and variance 1, scaled and shifted (Ba, Kiros and
// Hinton 2016). A score is in standard deviations of the accuracies, 0.0061,
// from their mean, 0.7363.
//
// Entry `predict`: `score`, one a graph, and `hidden`, a row a vertex.
// Entry `loss`, to train by: the square of what each score is off by. Saying 0
// for every graph has a loss of 1.

vertex.func @layer(%W: tensor<32x64xf32>, %U: tensor<64x64xf32>,
                   %b: tensor<64xf32>, %scale: tensor<64xf32>,
                   %shift: tensor<64xf32>)
    state(tensor<64xf32>) arity(0) {
  %x = vertex.pull "op" : tensor<32xf32>
  %m = vertex.map_children mean {
  ^bb0(%hk: tensor<64xf32>):
    vertex.yield(%hk) : tensor<64xf32>
  } : tensor<64xf32>

  %wx = nn.dense %x, %W, %b
      : tensor<32xf32>, tensor<32x64xf32>, tensor<64xf32>
  %um = nn.matmul %m, %U : tensor<64xf32>, tensor<64x64xf32>
  %sum = arith.addf %wx, %um : tensor<64xf32>
  // Parameters begin near 0: rows are first scaled by 1.
  %one = arith.constant dense<1.0> : tensor<64xf32>
  %g = arith.addf %scale, %one : tensor<64xf32>
  %norm = nn.layer_norm %sum, %g, %shift {epsilon = 1.0e-5}
      : tensor<64xf32>, tensor<64xf32>
  %new = math.tanh %norm : tensor<64xf32>
  %h = arith.addf %new, %m : tensor<64xf32>

  vertex.scatter %h : tensor<64xf32>
  vertex.push "hidden" %h : tensor<64xf32>
}

func.func @predict(
    %graphs: !vertex.graph {nn.input = "graphs"},
    %op: tensor<?xi32> {nn.input = "op"},
    %embedding: tensor<8x32xf32> {nn.param = "embedding"},
    %W: tensor<32x64xf32> {nn.param = "W"},
    %U: tensor<64x64xf32> {nn.param = "U"},
    %b: tensor<64xf32> {nn.param = "b"},
    %scale: tensor<64xf32> {nn.param = "scale"},
    %shift: tensor<64xf32> {nn.param = "shift"},
    %head_W: tensor<64x1xf32> {nn.param = "head.W"},
    %head_b: tensor<1xf32> {nn.param = "head.b"})
    -> (tensor<?xf32> {nn.output = "score"},
        tensor<?x64xf32> {nn.output = "hidden"}) {
  %x = nn.embedding %embedding[%op] : tensor<8x32xf32>, tensor<?xi32>
  %hidden = vertex.apply @layer(%W, %U, %b, %scale, %shift) over %graphs
      pull("op" = %x) -> "hidden"
      : (tensor<32x64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>,
         tensor<64xf32>),
        (tensor<?x32xf32>) -> tensor<?x64xf32>
  %root = vertex.roots %graphs, %hidden : tensor<?x64xf32>
  %scores = nn.dense %root, %head_W, %head_b
      : tensor<?x64xf32>, tensor<64x1xf32>, tensor<1xf32>
  %score = nn.sum %scores : tensor<?x1xf32>
  return %score, %hidden : tensor<?xf32>, tensor<?x64xf32>
}

func.func @loss(
    %graphs: !vertex.graph {nn.input = "graphs"},
    %op: tensor<?xi32> {nn.input = "op"},
    %accuracy: tensor<?xf32> {nn.input = "accuracy"},
    %embedding: tensor<8x32xf32> {nn.param = "embedding"},
    %W: tensor<32x64xf32> {nn.param = "W"},
    %U: tensor<64x64xf32> {nn.param = "U"},
    %b: tensor<64xf32> {nn.param = "b"},
    %scale: tensor<64xf32> {nn.param = "scale"},
    %shift: tensor<64xf32> {nn.param = "shift"},
    %head_W: tensor<64x1xf32> {nn.param = "head.W"},
    %head_b: tensor<1xf32> {nn.param = "head.b"})
    -> (tensor<?xf32> {nn.output = "loss"}) {
  %x = nn.embedding %embedding[%op] : tensor<8x32xf32>, tensor<?xi32>
  %hidden = vertex.apply @layer(%W, %U, %b, %scale, %shift) over %graphs
      pull("op" = %x) -> "hidden"
      : (tensor<32x64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>,
         tensor<64xf32>),
        (tensor<?x32xf32>) -> tensor<?x64xf32>
  %root = vertex.roots %graphs, %hidden : tensor<?x64xf32>
  %scores = nn.dense %root, %head_W, %head_b
      : tensor<?x64xf32>, tensor<64x1xf32>, tensor<1xf32>
  %score = nn.sum %scores : tensor<?x1xf32>

  %found = vertex.roots %graphs, %accuracy : tensor<?xf32>
  %mean = nn.fill %found with 0.7363 : tensor<?xf32>
  %deviation = nn.fill %found with 0.0061 : tensor<?xf32>
  %above = arith.subf %found, %mean : tensor<?xf32>
  %target = arith.divf %above, %deviation : tensor<?xf32>
  %off = arith.subf %score, %target : tensor<?xf32>
  %loss = arith.mulf %off, %off : tensor<?xf32>
  return %loss : tensor<?xf32>
}
