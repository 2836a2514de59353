// Sentiment of phrases: the binary Tree-LSTM of tree_lstm.mlir with 150 hidden
// units, trained from random word vectors on the Stanford Sentiment Treebank
// (Tai, Socher and Manning 2015, section 4.1): labels at every vertex, dropout
// at the words and in front of the classifier. docs/training-sentiment.md is
// the recipe.
//
// Entries: `loss` evaluates (no dropout); `loss_with_dropout` is differentiated.
// `root_correct` is about whole sentences, `correct` about all phrases.

vertex.func @tree_lstm(%W: tensor<300x750xf32>, %U: tensor<300x750xf32>,
                       %b: tensor<750xf32>)
    state(tensor<150xf32>, tensor<150xf32>) arity(2) {
  %x = vertex.pull "word" at leaves : tensor<300xf32>
  %hl, %cl = vertex.gather 0 : tensor<150xf32>, tensor<150xf32>
  %hr, %cr = vertex.gather 1 : tensor<150xf32>, tensor<150xf32>

  %children = tensor.concat dim(0) %hl, %hr
      : (tensor<150xf32>, tensor<150xf32>) -> tensor<300xf32>
  %wx = nn.dense %x, %W, %b
      : tensor<300xf32>, tensor<300x750xf32>, tensor<750xf32>
  %uh = nn.matmul %children, %U : tensor<300xf32>, tensor<300x750xf32>
  %gates = arith.addf %wx, %uh : tensor<750xf32>

  %gi = tensor.extract_slice %gates[0] [150] [1] : tensor<750xf32> to tensor<150xf32>
  %gl = tensor.extract_slice %gates[150] [150] [1] : tensor<750xf32> to tensor<150xf32>
  %gr = tensor.extract_slice %gates[300] [150] [1] : tensor<750xf32> to tensor<150xf32>
  %go = tensor.extract_slice %gates[450] [150] [1] : tensor<750xf32> to tensor<150xf32>
  %gu = tensor.extract_slice %gates[600] [150] [1] : tensor<750xf32> to tensor<150xf32>
  %i = nn.sigmoid %gi : tensor<150xf32>
  %fl = nn.sigmoid %gl : tensor<150xf32>
  %fr = nn.sigmoid %gr : tensor<150xf32>
  %o = nn.sigmoid %go : tensor<150xf32>
  %u = math.tanh %gu : tensor<150xf32>

  %iu = arith.mulf %i, %u : tensor<150xf32>
  %fcl = arith.mulf %fl, %cl : tensor<150xf32>
  %fcr = arith.mulf %fr, %cr : tensor<150xf32>
  %fc = arith.addf %fcl, %fcr : tensor<150xf32>
  %c = arith.addf %iu, %fc : tensor<150xf32>
  %tc = math.tanh %c : tensor<150xf32>
  %h = arith.mulf %o, %tc : tensor<150xf32>

  vertex.scatter %h, %c : tensor<150xf32>, tensor<150xf32>
  vertex.push "hidden" %h : tensor<150xf32>
}

func.func @loss(
    %trees: !vertex.graph {nn.input = "trees"},
    %word: tensor<?xi32> {nn.input = "word"},
    %label: tensor<?xi32> {nn.input = "label"},
    %embedding: tensor<20000x300xf32> {nn.param = "embedding"},
    %W: tensor<300x750xf32> {nn.param = "W"},
    %U: tensor<300x750xf32> {nn.param = "U"},
    %b: tensor<750xf32> {nn.param = "b"},
    %head_W: tensor<150x5xf32> {nn.param = "head.W"},
    %head_b: tensor<5xf32> {nn.param = "head.b"})
    -> (tensor<?xf32> {nn.output = "loss"},
        tensor<?xi32> {nn.output = "correct"},
        tensor<?xi32> {nn.output = "root_correct"}) {
  %e = nn.embedding %embedding[%word] : tensor<20000x300xf32>, tensor<?xi32>
  %hidden = vertex.apply @tree_lstm(%W, %U, %b) over %trees
      pull("word" = %e) -> "hidden"
      : (tensor<300x750xf32>, tensor<300x750xf32>, tensor<750xf32>),
        (tensor<?x300xf32>) -> tensor<?x150xf32>
  %logits = nn.dense %hidden, %head_W, %head_b
      : tensor<?x150xf32>, tensor<150x5xf32>, tensor<5xf32>
  %loss = nn.softmax_cross_entropy %logits, %label
      : tensor<?x5xf32>, tensor<?xi32>
  %correct = nn.correct %logits, %label : tensor<?x5xf32>, tensor<?xi32>
  %root_logits = vertex.roots %trees, %logits : tensor<?x5xf32>
  %root_label = vertex.roots %trees, %label : tensor<?xi32>
  %root_correct = nn.correct %root_logits, %root_label
      : tensor<?x5xf32>, tensor<?xi32>
  return %loss, %correct, %root_correct
      : tensor<?xf32>, tensor<?xi32>, tensor<?xi32>
}

func.func @loss_with_dropout(
    %trees: !vertex.graph {nn.input = "trees"},
    %word: tensor<?xi32> {nn.input = "word"},
    %label: tensor<?xi32> {nn.input = "label"},
    %seed: tensor<i32> {nn.input = "seed"},
    %number: tensor<?xi32> {nn.input = "vertex_number"},
    %embedding: tensor<20000x300xf32> {nn.param = "embedding"},
    %W: tensor<300x750xf32> {nn.param = "W"},
    %U: tensor<300x750xf32> {nn.param = "U"},
    %b: tensor<750xf32> {nn.param = "b"},
    %head_W: tensor<150x5xf32> {nn.param = "head.W"},
    %head_b: tensor<5xf32> {nn.param = "head.b"})
    -> (tensor<?xf32> {nn.output = "loss"},
        tensor<?xi32> {nn.output = "correct"},
        tensor<?xi32> {nn.output = "root_correct"}) {
  %e = nn.embedding %embedding[%word] : tensor<20000x300xf32>, tensor<?xi32>
  %x = nn.dropout %e, %seed, %number {probability = 0.5}
      : tensor<?x300xf32>, tensor<i32>, tensor<?xi32>
  %hidden = vertex.apply @tree_lstm(%W, %U, %b) over %trees
      pull("word" = %x) -> "hidden"
      : (tensor<300x750xf32>, tensor<300x750xf32>, tensor<750xf32>),
        (tensor<?x300xf32>) -> tensor<?x150xf32>
  %kept = nn.dropout %hidden, %seed, %number {probability = 0.5, site = 1 : i32}
      : tensor<?x150xf32>, tensor<i32>, tensor<?xi32>
  %logits = nn.dense %kept, %head_W, %head_b
      : tensor<?x150xf32>, tensor<150x5xf32>, tensor<5xf32>
  %loss = nn.softmax_cross_entropy %logits, %label
      : tensor<?x5xf32>, tensor<?xi32>
  %correct = nn.correct %logits, %label : tensor<?x5xf32>, tensor<?xi32>
  %root_logits = vertex.roots %trees, %logits : tensor<?x5xf32>
  %root_label = vertex.roots %trees, %label : tensor<?xi32>
  %root_correct = nn.correct %root_logits, %root_label
      : tensor<?x5xf32>, tensor<?xi32>
  return %loss, %correct, %root_correct
      : tensor<?xf32>, tensor<?xi32>, tensor<?xi32>
}
