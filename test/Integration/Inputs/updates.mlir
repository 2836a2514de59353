func.func @f(%x: tensor<2x1x4x4xf32> {nn.input = "x"}, %n: tensor<2xi32> {nn.input = "n"},
             %a: tensor<3xf32> {nn.param = "a"}, %b: tensor<3xf32> {nn.param = "b"},
             %c: tensor<3xf32> {nn.param = "c"}, %d: tensor<3xf32> {nn.param = "d"},
             %s: tensor<2x1x4x4xf32> {nn.param = "s"})
    -> (tensor<2x1x4x4xf32> {nn.output = "y"}, tensor<2x1x4x4xf32> {nn.output = "again"},
        tensor<3xf32> {nn.output = "old_a"}, tensor<3xf32> {nn.output = "sevens"},
        tensor<2xi32> {nn.output = "same_n"}, tensor<3xf32> {nn.update = "a"},
        tensor<3xf32> {nn.update = "b"}, tensor<3xf32> {nn.update = "c"},
        tensor<3xf32> {nn.update = "d"}, tensor<2x1x4x4xf32> {nn.update = "s"}) {
  %seven = arith.constant dense<7.0> : tensor<3xf32>
  %y = nn.max_pool2d %x {window = [3, 3], padding = [1, 1, 1, 1]} : tensor<2x1x4x4xf32>
  return %y, %y, %a, %seven, %n, %seven, %c, %b, %d, %y : tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>,
      tensor<3xf32>, tensor<3xf32>, tensor<2xi32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>,
      tensor<3xf32>, tensor<2x1x4x4xf32>
}
