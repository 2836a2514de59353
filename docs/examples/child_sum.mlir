// Child-sum Tree-LSTM (Tai, Socher and Manning 2015, equations 2 to 8): a vertex
// has any number of children, each with a forget gate of its own. A classifier
// labels every vertex.
//
// Gate columns of W, U and b: i, o, u. U_f, W_f and b_f make the forget gates.
//
// Entry `classify`: `logits`, a row a vertex. Entry `loss`, to train by: the
// cross entropy of the label of every vertex (-1: it has none), and whether it
// is classified correctly.

vertex.func @child_sum(%W: tensor<300x768xf32>, %U: tensor<256x768xf32>,
                       %b: tensor<768xf32>, %W_f: tensor<300x256xf32>,
                       %U_f: tensor<256x256xf32>, %b_f: tensor<256xf32>)
    state(tensor<256xf32>, tensor<256xf32>) arity(0) {
  %x = vertex.pull "word" : tensor<300xf32>
  %wf = nn.dense %x, %W_f, %b_f
      : tensor<300xf32>, tensor<300x256xf32>, tensor<256xf32>
  %hs, %fc = vertex.map_children sum {
  ^bb0(%hk: tensor<256xf32>, %ck: tensor<256xf32>):
    %uf = nn.matmul %hk, %U_f : tensor<256xf32>, tensor<256x256xf32>
    %gf = arith.addf %wf, %uf : tensor<256xf32>
    %f = nn.sigmoid %gf : tensor<256xf32>
    %fck = arith.mulf %f, %ck : tensor<256xf32>
    vertex.yield(%hk, %fck) : tensor<256xf32>, tensor<256xf32>
  } : tensor<256xf32>, tensor<256xf32>

  %wx = nn.dense %x, %W, %b
      : tensor<300xf32>, tensor<300x768xf32>, tensor<768xf32>
  %uh = nn.matmul %hs, %U : tensor<256xf32>, tensor<256x768xf32>
  %gates = arith.addf %wx, %uh : tensor<768xf32>
  %gi = tensor.extract_slice %gates[0] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %go = tensor.extract_slice %gates[256] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %gu = tensor.extract_slice %gates[512] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %i = nn.sigmoid %gi : tensor<256xf32>
  %o = nn.sigmoid %go : tensor<256xf32>
  %u = math.tanh %gu : tensor<256xf32>
  %iu = arith.mulf %i, %u : tensor<256xf32>
  %c = arith.addf %iu, %fc : tensor<256xf32>
  %tc = math.tanh %c : tensor<256xf32>
  %h = arith.mulf %o, %tc : tensor<256xf32>

  vertex.scatter %h, %c : tensor<256xf32>, tensor<256xf32>
  vertex.push "hidden" %h : tensor<256xf32>
}

func.func @classify(
    %trees: !vertex.graph {nn.input = "trees"},
    %word: tensor<?xi32> {nn.input = "word"},
    %embedding: tensor<20000x300xf32> {nn.param = "embedding"},
    %W: tensor<300x768xf32> {nn.param = "W"},
    %U: tensor<256x768xf32> {nn.param = "U"},
    %b: tensor<768xf32> {nn.param = "b"},
    %W_f: tensor<300x256xf32> {nn.param = "W_f"},
    %U_f: tensor<256x256xf32> {nn.param = "U_f"},
    %b_f: tensor<256xf32> {nn.param = "b_f"},
    %head_W: tensor<256x18xf32> {nn.param = "head.W"},
    %head_b: tensor<18xf32> {nn.param = "head.b"})
    -> (tensor<?x18xf32> {nn.output = "logits"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x300xf32>, tensor<?xi32>
  %hidden = vertex.apply @child_sum(%W, %U, %b, %W_f, %U_f, %b_f) over %trees
      pull("word" = %x) -> "hidden"
      : (tensor<300x768xf32>, tensor<256x768xf32>, tensor<768xf32>,
         tensor<300x256xf32>, tensor<256x256xf32>, tensor<256xf32>),
        (tensor<?x300xf32>) -> tensor<?x256xf32>
  %logits = nn.dense %hidden, %head_W, %head_b
      : tensor<?x256xf32>, tensor<256x18xf32>, tensor<18xf32>
  return %logits : tensor<?x18xf32>
}

func.func @loss(
    %trees: !vertex.graph {nn.input = "trees"},
    %word: tensor<?xi32> {nn.input = "word"},
    %label: tensor<?xi32> {nn.input = "label"},
    %embedding: tensor<20000x300xf32> {nn.param = "embedding"},
    %W: tensor<300x768xf32> {nn.param = "W"},
    %U: tensor<256x768xf32> {nn.param = "U"},
    %b: tensor<768xf32> {nn.param = "b"},
    %W_f: tensor<300x256xf32> {nn.param = "W_f"},
    %U_f: tensor<256x256xf32> {nn.param = "U_f"},
    %b_f: tensor<256xf32> {nn.param = "b_f"},
    %head_W: tensor<256x18xf32> {nn.param = "head.W"},
    %head_b: tensor<18xf32> {nn.param = "head.b"})
    -> (tensor<?xf32> {nn.output = "loss"},
        tensor<?xi32> {nn.output = "correct"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x300xf32>, tensor<?xi32>
  %hidden = vertex.apply @child_sum(%W, %U, %b, %W_f, %U_f, %b_f) over %trees
      pull("word" = %x) -> "hidden"
      : (tensor<300x768xf32>, tensor<256x768xf32>, tensor<768xf32>,
         tensor<300x256xf32>, tensor<256x256xf32>, tensor<256xf32>),
        (tensor<?x300xf32>) -> tensor<?x256xf32>
  %logits = nn.dense %hidden, %head_W, %head_b
      : tensor<?x256xf32>, tensor<256x18xf32>, tensor<18xf32>
  %loss = nn.softmax_cross_entropy %logits, %label
      : tensor<?x18xf32>, tensor<?xi32>
  %correct = nn.correct %logits, %label : tensor<?x18xf32>, tensor<?xi32>
  return %loss, %correct : tensor<?xf32>, tensor<?xi32>
}
