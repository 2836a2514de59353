// Lattice LSTM (Zhang and Yang 2018, equations 10 to 15): tags every character of
// a sentence that is written without spaces, and reads along the words of a
// lexicon that are found in it. Vertices are of two types, and each type has a
// function of its own:
//
//   0, a character. Its children are the character before it, and the words that
//      end at it, of which there are any number.
//        [i o u] = x W + h U + b            i, o through sigmoid, u through tanh
//        c' = (1 - i) c + i u               if no word ends here; otherwise
//        c' = (exp(i) u + sum exp(l_w) c_w) / (exp(i) + sum exp(l_w))
//        l_w = sigmoid(x link.W + c_w link.U + link.b)
//        h' = o tanh(c')
//   1, a word. Its only child is the character that it begins after.
//        [i f u] = x word.W + h word.U + word.b
//        c_w = f c + i u                    it has no output gate, and no h
//
// Gate columns: i, o, u of characters, i, f, u of words. The state is h (zeros of
// a word), c, a word's part of its gate l_w, and 1 for words, 0 for characters.
// 18 tags.
//
// Entry `classify`: `logits` and `hidden`, a row a vertex; those of words say
// nothing. Entry `loss`, to train by: the cross entropy of the tag of every
// vertex (-1: it has none, as words), and whether it is tagged correctly.

vertex.func @character(%W: tensor<300x768xf32>, %U: tensor<256x768xf32>,
                       %b: tensor<768xf32>, %link_W: tensor<300x256xf32>,
                       %link_U: tensor<256x256xf32>, %link_b: tensor<256xf32>,
                       %word_W: tensor<300x768xf32>,
                       %word_U: tensor<256x768xf32>, %word_b: tensor<768xf32>)
    state(tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>)
    arity(0) {
  %x = vertex.pull "word" : tensor<300xf32>
  // What a word's gate takes of the character is the same for all words.
  %lx = nn.dense %x, %link_W, %link_b
      : tensor<300xf32>, tensor<300x256xf32>, tensor<256xf32>
  %one = arith.constant dense<1.0> : tensor<256xf32>
  %h0, %c0, %words, %sum, %total = vertex.map_children sum {
  ^bb0(%hk: tensor<256xf32>, %ck: tensor<256xf32>, %lk: tensor<256xf32>,
       %is_word: tensor<256xf32>):
    %gl = arith.addf %lx, %lk : tensor<256xf32>
    %l = nn.sigmoid %gl : tensor<256xf32>
    %el = math.exp %l : tensor<256xf32>
    %e = arith.mulf %el, %is_word : tensor<256xf32>
    %ec = arith.mulf %e, %ck : tensor<256xf32>
    %is_character = arith.subf %one, %is_word : tensor<256xf32>
    %c_before = arith.mulf %is_character, %ck : tensor<256xf32>
    vertex.yield(%hk, %c_before, %is_word, %ec, %e)
        : tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
  } : tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>

  %wx = nn.dense %x, %W, %b
      : tensor<300xf32>, tensor<300x768xf32>, tensor<768xf32>
  %uh = nn.matmul %h0, %U : tensor<256xf32>, tensor<256x768xf32>
  %gates = arith.addf %wx, %uh : tensor<768xf32>
  %gi = tensor.extract_slice %gates[0] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %go = tensor.extract_slice %gates[256] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %gu = tensor.extract_slice %gates[512] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %i = nn.sigmoid %gi : tensor<256xf32>
  %o = nn.sigmoid %go : tensor<256xf32>
  %u = math.tanh %gu : tensor<256xf32>

  // Without words, one gate between the new and the old.
  %keep = arith.subf %one, %i : tensor<256xf32>
  %old = arith.mulf %keep, %c0 : tensor<256xf32>
  %new = arith.mulf %i, %u : tensor<256xf32>
  %plain = arith.addf %old, %new : tensor<256xf32>
  // With words, shares of the new and of each word.
  %ei = math.exp %i : tensor<256xf32>
  %eu = arith.mulf %ei, %u : tensor<256xf32>
  %parts = arith.addf %eu, %sum : tensor<256xf32>
  %whole = arith.addf %ei, %total : tensor<256xf32>
  %mixed = arith.divf %parts, %whole : tensor<256xf32>
  %none = arith.constant dense<0.0> : tensor<256xf32>
  %has_words = arith.cmpf ogt, %words, %none : tensor<256xf32>
  %c = arith.select %has_words, %mixed, %plain : tensor<256xi1>, tensor<256xf32>
  %tc = math.tanh %c : tensor<256xf32>
  %h = arith.mulf %o, %tc : tensor<256xf32>

  vertex.scatter %h, %c, %none, %none
      : tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
  vertex.push "hidden" %h : tensor<256xf32>
}

vertex.func @word(%W: tensor<300x768xf32>, %U: tensor<256x768xf32>,
                  %b: tensor<768xf32>, %link_W: tensor<300x256xf32>,
                  %link_U: tensor<256x256xf32>, %link_b: tensor<256xf32>,
                  %word_W: tensor<300x768xf32>, %word_U: tensor<256x768xf32>,
                  %word_b: tensor<768xf32>)
    state(tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>)
    arity(0) {
  %x = vertex.pull "word" : tensor<300xf32>
  // Its only child is the character that it begins after.
  %h0, %c0 = vertex.map_children sum {
  ^bb0(%hk: tensor<256xf32>, %ck: tensor<256xf32>, %lk: tensor<256xf32>,
       %is_word: tensor<256xf32>):
    vertex.yield(%hk, %ck) : tensor<256xf32>, tensor<256xf32>
  } : tensor<256xf32>, tensor<256xf32>
  %wx = nn.dense %x, %word_W, %word_b
      : tensor<300xf32>, tensor<300x768xf32>, tensor<768xf32>
  %uh = nn.matmul %h0, %word_U : tensor<256xf32>, tensor<256x768xf32>
  %gates = arith.addf %wx, %uh : tensor<768xf32>
  %gi = tensor.extract_slice %gates[0] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %gf = tensor.extract_slice %gates[256] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %gu = tensor.extract_slice %gates[512] [256] [1] : tensor<768xf32> to tensor<256xf32>
  %i = nn.sigmoid %gi : tensor<256xf32>
  %f = nn.sigmoid %gf : tensor<256xf32>
  %u = math.tanh %gu : tensor<256xf32>
  %iu = arith.mulf %i, %u : tensor<256xf32>
  %fc = arith.mulf %f, %c0 : tensor<256xf32>
  %c = arith.addf %iu, %fc : tensor<256xf32>
  // What its gate takes of the word, once for all characters that follow.
  %l = nn.matmul %c, %link_U : tensor<256xf32>, tensor<256x256xf32>
  %none = arith.constant dense<0.0> : tensor<256xf32>
  %one = arith.constant dense<1.0> : tensor<256xf32>
  vertex.scatter %none, %c, %l, %one
      : tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
}

func.func @classify(
    %lattices: !vertex.graph {nn.input = "lattices"},
    %word: tensor<?xi32> {nn.input = "word"},
    %embedding: tensor<20000x300xf32> {nn.param = "embedding"},
    %W: tensor<300x768xf32> {nn.param = "character.W"},
    %U: tensor<256x768xf32> {nn.param = "character.U"},
    %b: tensor<768xf32> {nn.param = "character.b"},
    %link_W: tensor<300x256xf32> {nn.param = "link.W"},
    %link_U: tensor<256x256xf32> {nn.param = "link.U"},
    %link_b: tensor<256xf32> {nn.param = "link.b"},
    %word_W: tensor<300x768xf32> {nn.param = "word.W"},
    %word_U: tensor<256x768xf32> {nn.param = "word.U"},
    %word_b: tensor<768xf32> {nn.param = "word.b"},
    %head_W: tensor<256x18xf32> {nn.param = "head.W"},
    %head_b: tensor<18xf32> {nn.param = "head.b"})
    -> (tensor<?x18xf32> {nn.output = "logits"},
        tensor<?x256xf32> {nn.output = "hidden"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x300xf32>, tensor<?xi32>
  %hidden = vertex.apply [@character, @word] by "type"
      (%W, %U, %b, %link_W, %link_U, %link_b, %word_W, %word_U, %word_b)
      over %lattices pull("word" = %x) -> "hidden"
      : (tensor<300x768xf32>, tensor<256x768xf32>, tensor<768xf32>,
         tensor<300x256xf32>, tensor<256x256xf32>, tensor<256xf32>,
         tensor<300x768xf32>, tensor<256x768xf32>, tensor<768xf32>),
        (tensor<?x300xf32>) -> tensor<?x256xf32>
  %logits = nn.dense %hidden, %head_W, %head_b
      : tensor<?x256xf32>, tensor<256x18xf32>, tensor<18xf32>
  return %logits, %hidden : tensor<?x18xf32>, tensor<?x256xf32>
}

func.func @loss(
    %lattices: !vertex.graph {nn.input = "lattices"},
    %word: tensor<?xi32> {nn.input = "word"},
    %tag: tensor<?xi32> {nn.input = "tag"},
    %embedding: tensor<20000x300xf32> {nn.param = "embedding"},
    %W: tensor<300x768xf32> {nn.param = "character.W"},
    %U: tensor<256x768xf32> {nn.param = "character.U"},
    %b: tensor<768xf32> {nn.param = "character.b"},
    %link_W: tensor<300x256xf32> {nn.param = "link.W"},
    %link_U: tensor<256x256xf32> {nn.param = "link.U"},
    %link_b: tensor<256xf32> {nn.param = "link.b"},
    %word_W: tensor<300x768xf32> {nn.param = "word.W"},
    %word_U: tensor<256x768xf32> {nn.param = "word.U"},
    %word_b: tensor<768xf32> {nn.param = "word.b"},
    %head_W: tensor<256x18xf32> {nn.param = "head.W"},
    %head_b: tensor<18xf32> {nn.param = "head.b"})
    -> (tensor<?xf32> {nn.output = "loss"},
        tensor<?xi32> {nn.output = "correct"}) {
  %x = nn.embedding %embedding[%word] : tensor<20000x300xf32>, tensor<?xi32>
  %hidden = vertex.apply [@character, @word] by "type"
      (%W, %U, %b, %link_W, %link_U, %link_b, %word_W, %word_U, %word_b)
      over %lattices pull("word" = %x) -> "hidden"
      : (tensor<300x768xf32>, tensor<256x768xf32>, tensor<768xf32>,
         tensor<300x256xf32>, tensor<256x256xf32>, tensor<256xf32>,
         tensor<300x768xf32>, tensor<256x768xf32>, tensor<768xf32>),
        (tensor<?x300xf32>) -> tensor<?x256xf32>
  %logits = nn.dense %hidden, %head_W, %head_b
      : tensor<?x256xf32>, tensor<256x18xf32>, tensor<18xf32>
  %loss = nn.softmax_cross_entropy %logits, %tag
      : tensor<?x18xf32>, tensor<?xi32>
  %correct = nn.correct %logits, %tag : tensor<?x18xf32>, tensor<?xi32>
  return %loss, %correct : tensor<?xf32>, tensor<?xi32>
}
