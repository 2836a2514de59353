//===- NNLayerOps.td - Operators of layered networks -------*- tablegen -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by NNOps.td. Convolutions, pools and normalisation over a batch of
// images, and the operators that their adjoints are made of. All shapes are static: a network
// is planned for one batch size. Images are N x C x H x W, weights O x I x H x
// W, where I is the input's channels divided by the groups.
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_NN_IR_NNLAYEROPS
#define ESPALIER_DIALECT_NN_IR_NNLAYEROPS

/// An operator that works on whole tensors of static shape.
class NN_LayerOp<string mnemonic, list<Trait> traits = []>
    : NN_Op<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<CostOpInterface, ["getFlops"]>], traits)>;

/// Images, or anything of the same number of dimensions: N x C x H x W.
def NN_Images : RankedTensorOf<[F32, F64],
    [HasStaticShapePred, HasAnyRankOfPred<[4]>],
    "tensor of rank 4 and static shape">;
/// Images, or rows: N x C.
def NN_Channels : RankedTensorOf<[F32, F64],
    [HasStaticShapePred, HasAnyRankOfPred<[2, 4]>],
    "tensor of rank 2 or 4 and static shape">;
/// One number a channel.
def NN_PerChannel : RankedTensorOf<[F32, F64],
    [HasStaticShapePred, HasAnyRankOfPred<[1]>],
    "tensor of rank 1 and static shape">;

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

defvar ConvolutionAttributes = (ins
  DefaultValuedAttr<I64ArrayAttr, "{1, 1}">:$strides,
  DefaultValuedAttr<I64ArrayAttr, "{0, 0, 0, 0}">:$padding,
  DefaultValuedAttr<I64ArrayAttr, "{1, 1}">:$dilations,
  DefaultValuedAttr<I64Attr, "1">:$groups);

def NN_Conv2dOp : NN_LayerOp<"conv2d", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface,
        ["getLayer", "getCuts", "isCheckpoint", "getAlgorithms"]>]> {
  let summary = "Convolution of images with a weight.";
  let description = [{
    With strides s, dilations d and padding p (of which `padding` has top, left,
    bottom and right), and g the group of output channel o,

        y[n, o, i, j] = b[o] + sum over c, u, v of W[o, c, u, v]
            x[n, g I + c, i s0 + u d0 - p0, j s1 + v d1 - p1]

    where x is 0 outside of the image (LeCun et al. 1989; groups: Krizhevsky et
    al. 2012; dilations: Yu and Koltun 2016). W is not flipped. The result has
    `(H + p0 + p2 - d0 (U - 1) - 1) / s0 + 1` rows, rounded down, and columns
    likewise.

    Constraints: (C1) all element types are equal; (C2) there are two strides
    and two dilations, of at least 1, and four paddings, of at least 0; (C3) x
    has `groups` times the channels of W's second dimension, and `groups`
    divides W's first; (C4) the window, dilated, fits into the padded image;
    (C5) b has as many elements as W's first dimension.

    ```mlir
    %y = nn.conv2d %x, %W {strides = [2, 2], padding = [3, 3, 3, 3]}
        : tensor<8x3x224x224xf32>, tensor<64x3x7x7xf32>
    %z = nn.conv2d %y, %V bias %b {groups = 2 : i64}
        : tensor<8x64x112x112xf32>, tensor<32x32x1x1xf32>, tensor<32xf32>
    ```
  }];
  let arguments = !con((ins NN_Images:$input, NN_Images:$weight,
                            Optional<NN_PerChannel>:$bias),
                       ConvolutionAttributes);
  let results = (outs NN_Images:$result);
  let assemblyFormat = [{
    $input `,` $weight (`bias` $bias^)? attr-dict
    `:` type($input) `,` type($weight) (`,` type($bias)^)?
  }];
  let hasCanonicalizer = 1;
}

def NN_Conv2dTransposeOp : NN_LayerOp<"conv2d_transpose", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface,
        ["getLayer", "getCuts", "isCheckpoint", "getAlgorithms"]>]> {
  let summary = "The adjoint of a convolution's input.";
  let description = [{
    As a linear function of x a convolution is a matrix, and this is its
    transpose: every element of the input spreads the weight over the window of
    the result that it would have been computed from,

        y[n, g I + c, i s0 + u d0 - p0, j s1 + v d1 - p1]
            += W[o, c, u, v] x[n, o, i, j]

    what falls outside of the result being lost. Several sizes of a result have
    the same convolution's result, so its type says which. Also a layer by
    itself, that enlarges images (Zeiler et al. 2010; the up-convolution of
    Ronneberger et al. 2015).

    Constraints: (C1) all element types are equal; (C2) and (C3) as of
    `nn.conv2d`, of the result in place of x; (C4) the convolution of the result
    with W has the input's type.

    ```mlir
    %y = nn.conv2d_transpose %x, %W {strides = [2, 2]}
        : tensor<8x64x28x28xf32>, tensor<64x32x2x2xf32>
        -> tensor<8x32x56x56xf32>
    ```
  }];
  let arguments = !con((ins NN_Images:$input, NN_Images:$weight),
                       ConvolutionAttributes);
  let results = (outs NN_Images:$result);
  let assemblyFormat = [{
    $input `,` $weight attr-dict
    `:` type($input) `,` type($weight) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_Conv2dWeightAdjointOp : NN_LayerOp<"conv2d_weight_adjoint", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface,
        ["getLayer", "getCuts", "isCheckpoint", "getAlgorithms"]>]> {
  let summary = "The adjoint of a convolution's weight.";
  let description = [{
    With d the adjoint of the convolution's result,

        dW[o, c, u, v] = sum over n, i, j of d[n, o, i, j]
            x[n, g I + c, i s0 + u d0 - p0, j s1 + v d1 - p1]

    Constraints: (C1) all element types are equal; (C2) and (C3) as of
    `nn.conv2d`, of the result in place of W; (C4) the convolution of x with the
    result has the type of d.

    ```mlir
    %dW = nn.conv2d_weight_adjoint %x, %d {padding = [1, 1, 1, 1]}
        : tensor<8x3x32x32xf32>, tensor<8x16x32x32xf32>
        -> tensor<16x3x3x3xf32>
    ```
  }];
  let arguments = !con((ins NN_Images:$input, NN_Images:$adjoint),
                       ConvolutionAttributes);
  let results = (outs NN_Images:$result);
  let assemblyFormat = [{
    $input `,` $adjoint attr-dict
    `:` type($input) `,` type($adjoint) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

defvar PoolAttributes = (ins
  I64ArrayAttr:$window,
  DefaultValuedAttr<I64ArrayAttr, "{1, 1}">:$strides,
  DefaultValuedAttr<I64ArrayAttr, "{0, 0, 0, 0}">:$padding,
  UnitAttr:$ceil_mode);

def NN_MaxPool2dOp : NN_LayerOp<"max_pool2d", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getLayer", "getCuts"]>]> {
  let summary = "The largest element of each window.";
  let description = [{
    Elements outside of the image do not count; NaN is larger than all others.
    The result has `(H + p0 + p2 - U) / s0 + 1` rows, rounded down; with
    `ceil_mode` rounded up, but for windows that would start beyond the image's
    end (as Caffe and PyTorch do). Columns likewise.

    Constraints: (C1) the window has two sizes of at least 1; there are two
    strides of at least 1, and four paddings of at least 0; (C2) every padding is
    less than the window, so that no window lies outside of the image; (C3) the
    window fits into the padded image.

    ```mlir
    %y = nn.max_pool2d %x {window = [3, 3], strides = [2, 2], ceil_mode}
        : tensor<8x64x112x112xf32>
    ```
  }];
  let arguments = !con((ins NN_Images:$input), PoolAttributes);
  let results = (outs NN_Images:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasFolder = 1;
}

def NN_MaxPool2dAdjointOp : NN_LayerOp<"max_pool2d_adjoint", [
    AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getLayer", "getCuts"]>]> {
  let summary = "The adjoint of a max_pool2d's input.";
  let description = [{
    Each element of d is added to that of the largest element of its window: to
    the first one's, row by row, if several are. Which it was is found again in
    the input.

    Constraints: (C1-C3) as of `nn.max_pool2d`; (C4) d has the type of its
    result.

    ```mlir
    %dx = nn.max_pool2d_adjoint %x, %d {window = [2, 2], strides = [2, 2]}
        : tensor<8x64x112x112xf32>, tensor<8x64x56x56xf32>
    ```
  }];
  let arguments = !con((ins NN_Images:$input, NN_Images:$adjoint),
                       PoolAttributes);
  let results = (outs NN_Images:$result);
  let assemblyFormat = [{
    $input `,` $adjoint attr-dict `:` type($input) `,` type($adjoint)
  }];
  let hasVerifier = 1;
}

def NN_AvgPool2dOp : NN_LayerOp<"avg_pool2d", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getLayer", "getCuts"]>]> {
  let summary = "The mean of each window.";
  let description = [{
    The sum of the elements of the window that lie in the image, divided by
    their number; with `count_padding` divided by the window's size. A window of
    the image's size is global pooling (Lin et al. 2014). Shapes and constraints
    as of `nn.max_pool2d` (C1-C3).

    ```mlir
    %y = nn.avg_pool2d %x {window = [7, 7]} : tensor<8x2048x7x7xf32>
    %z = nn.avg_pool2d %x {window = [3, 3], padding = [1, 1, 1, 1],
                           count_padding} : tensor<8x2048x7x7xf32>
    ```
  }];
  let arguments = !con((ins NN_Images:$input), PoolAttributes,
                       (ins UnitAttr:$count_padding));
  let results = (outs NN_Images:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasFolder = 1;
}

def NN_AvgPool2dAdjointOp : NN_LayerOp<"avg_pool2d_adjoint", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getLayer", "getCuts"]>]> {
  let summary = "The adjoint of an avg_pool2d's input.";
  let description = [{
    Each element of d, divided as the sum of its window was, is added to all
    elements of the window. The pool is linear, so its input is not read; its
    type is that of the result.

    Constraints: (C1-C3) as of `nn.max_pool2d`; (C4) d has the type of the
    pool of the result.

    ```mlir
    %dx = nn.avg_pool2d_adjoint %d {window = [7, 7]}
        : tensor<8x2048x1x1xf32> -> tensor<8x2048x7x7xf32>
    ```
  }];
  let arguments = !con((ins NN_Images:$adjoint), PoolAttributes,
                       (ins UnitAttr:$count_padding));
  let results = (outs NN_Images:$result);
  let assemblyFormat = [{
    $adjoint attr-dict `:` type($adjoint) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//

def NN_BatchNormOp : NN_LayerOp<"batch_norm", [InferTypeOpAdaptor,
    AllTypesMatch<["scale", "shift"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface,
        ["getLayer", "getInPlaceOperands", "buildWithCuts"]>]> {
  let summary = "Channels brought to mean 0 and variance 1 over the batch.";
  let description = [{
    By channel, with the mean and the variance of all its elements in the batch,

        y = (x - mean) / sqrt(variance + epsilon) scale + shift

    (Ioffe and Szegedy 2015, algorithm 1). The variance is divided by the number
    of elements. Mean and variance are results, too: the adjoint reads them, and
    running statistics are made of them, as `nn.update`d parameters, by
    arithmetic that runs once however often this operator does.

    Constraints: (C1) scale and shift have one number of x's type for each
    channel (dimension 1); (C2) a channel has elements; (C3) epsilon is not
    negative.

    ```mlir
    %y, %mean, %variance = nn.batch_norm %x, %scale, %shift {epsilon = 1.0e-5}
        : tensor<8x64x56x56xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins NN_Channels:$input, NN_PerChannel:$scale,
                       NN_PerChannel:$shift,
                       DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
  let results = (outs NN_Channels:$result, NN_PerChannel:$mean,
                      NN_PerChannel:$variance);
  let assemblyFormat = [{
    $input `,` $scale `,` $shift attr-dict
    `:` type($input) `,` type($scale)
  }];
}

def NN_BatchNormInferenceOp : NN_LayerOp<"batch_norm_inference", [
    AllTypesMatch<["input", "result"]>,
    AllTypesMatch<["scale", "shift", "mean", "variance"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface,
                              ["getLayer", "getCuts", "getInPlaceOperands"]>]> {
  let summary = "Channels shifted and scaled by statistics that are given.";
  let description = [{
    `(x - mean) / sqrt(variance + epsilon) scale + shift`, by channel (Ioffe and
    Szegedy 2015, algorithm 2): inference by the running statistics of training.

    Constraints: (C1) scale, shift, mean and variance have one number of x's
    type for each channel (dimension 1); (C2) epsilon is not negative.

    ```mlir
    %y = nn.batch_norm_inference %x, %scale, %shift, %mean, %variance
        : tensor<8x64x56x56xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins NN_Channels:$input, NN_PerChannel:$scale,
                       NN_PerChannel:$shift, NN_PerChannel:$mean,
                       NN_PerChannel:$variance,
                       DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
  let results = (outs NN_Channels:$result);
  let assemblyFormat = [{
    $input `,` $scale `,` $shift `,` $mean `,` $variance attr-dict
    `:` type($input) `,` type($scale)
  }];
  let hasVerifier = 1;
}

def NN_BatchNormAdjointOp : NN_LayerOp<"batch_norm_adjoint", [
    AllTypesMatch<["input", "adjoint", "inputAdjoint"]>,
    AllTypesMatch<["scale", "mean", "variance", "scaleAdjoint",
                   "shiftAdjoint"]>,
    DeclareOpInterfaceMethods<LayerOpInterface,
        ["getLayer", "getInPlaceOperands", "buildWithCuts"]>]> {
  let summary = "The adjoints of the operands of a batch_norm.";
  let description = [{
    With d the adjoint of its result, n the input brought to mean 0 and variance
    1, and M the number of elements of a channel, by channel

        dshift = sum d        dscale = sum n d
        dx = scale / sqrt(variance + epsilon) (d - dshift / M - n dscale / M)

    (Ioffe and Szegedy 2015, section 3). The input is read, and not the result,
    whose memory the next operator may take over.

    Constraints: (C1) scale, mean and variance have one number of x's type for
    each channel (dimension 1); (C2) a channel has elements; (C3) epsilon is not
    negative.

    ```mlir
    %dx, %dscale, %dshift = nn.batch_norm_adjoint %x, %scale, %mean, %variance,
        %d : tensor<8x64x56x56xf32>, tensor<64xf32>
    ```
  }];
  let arguments = (ins NN_Channels:$input, NN_PerChannel:$scale,
                       NN_PerChannel:$mean, NN_PerChannel:$variance,
                       NN_Channels:$adjoint,
                       DefaultValuedAttr<F64Attr, "1e-5">:$epsilon);
  let results = (outs NN_Channels:$inputAdjoint, NN_PerChannel:$scaleAdjoint,
                      NN_PerChannel:$shiftAdjoint);
  let assemblyFormat = [{
    $input `,` $scale `,` $mean `,` $variance `,` $adjoint attr-dict
    `:` type($input) `,` type($scale)
  }];
  let hasVerifier = 1;
}

defvar ResponseAttributes = (ins
  DefaultValuedAttr<I64Attr, "5">:$size,
  DefaultValuedAttr<F64Attr, "1e-4">:$alpha,
  DefaultValuedAttr<F64Attr, "0.75">:$beta,
  DefaultValuedAttr<F64Attr, "1.0">:$bias);

def NN_LrnOp : NN_LayerOp<"lrn", [AllTypesMatch<["input", "result"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getLayer", "getCuts"]>]> {
  let summary = "Local response normalisation across channels.";
  let description = [{
    `y = x (bias + alpha / size s)^-beta`, where s is the sum of the squares of
    the same place in the `size` channels around (Krizhevsky et al. 2012,
    section 3.3; alpha is divided by the size, as Caffe does it).

    Constraints: (C1) the size is odd and positive; (C2) the bias is positive
    and alpha not negative, so that the power is defined.

    ```mlir
    %y = nn.lrn %x {size = 5 : i64, alpha = 1.0e-4, beta = 0.75}
        : tensor<8x96x55x55xf32>
    ```
  }];
  let arguments = !con((ins NN_Images:$input), ResponseAttributes);
  let results = (outs NN_Images:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def NN_LrnAdjointOp : NN_LayerOp<"lrn_adjoint", [
    AllTypesMatch<["input", "adjoint", "result"]>,
    DeclareOpInterfaceMethods<LayerOpInterface,
                              ["getLayer", "getCuts", "getInPlaceOperands"]>]> {
  let summary = "The adjoint of an lrn's input.";
  let description = [{
    With b the base of the power and sums over the channels around,

        dx = d b^-beta - 2 alpha beta / size x sum (d x b^(-beta - 1))

    Constraints: (C1) and (C2) as of `nn.lrn`.

    ```mlir
    %dx = nn.lrn_adjoint %x, %d : tensor<8x96x55x55xf32>
    ```
  }];
  let arguments = !con((ins NN_Images:$input, NN_Images:$adjoint),
                       ResponseAttributes);
  let results = (outs NN_Images:$result);
  let assemblyFormat = "$input `,` $adjoint attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def NN_SoftmaxAdjointOp : NN_LayerOp<"softmax_adjoint", [
    AllTypesMatch<["output", "adjoint", "result"]>,
    DeclareOpInterfaceMethods<RowKernelOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface,
                              ["getCuts", "getInPlaceOperands"]>]> {
  let summary = "The adjoint of a softmax's input, over a static batch.";
  let description = [{
    `y (d - sum(d y))` by row, with y the softmax's output. Of one row, or of
    rows of dynamic number, the same is arithmetic, which fuses with other such.

    Constraints: (C1) rank 1 or 2, with a static, non-empty last dimension.

    ```mlir
    %dx = nn.softmax_adjoint %y, %d : tensor<8x10xf32>
    ```
  }];
  let arguments = (ins NN_Rows:$output, NN_Rows:$adjoint);
  let results = (outs NN_Rows:$result);
  let assemblyFormat = "$output `,` $adjoint attr-dict `:` type($output)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Channels: sums, and what is the same for all
//===----------------------------------------------------------------------===//

def NN_SumChannelsOp : NN_LayerOp<"sum_channels", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getLayer", "getCuts"]>]> {
  let summary = "The sum over all but the channels.";
  let description = [{
    One number for each channel (dimension 1): the adjoint of a bias.

    ```mlir
    %s = nn.sum_channels %d : tensor<8x64x56x56xf32>
    ```
  }];
  let arguments = (ins NN_Channels:$input);
  let results = (outs NN_PerChannel:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasFolder = 1;
}

def NN_SpreadChannelsOp : NN_LayerOp<"spread_channels", [
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getLayer", "getCuts"]>]> {
  let summary = "One number in all elements of a channel.";
  let description = [{
    The adjoint of `nn.sum_channels`.

    Constraints: (C1) the operand has one number of the result's type for each
    of its channels (dimension 1).

    ```mlir
    %y = nn.spread_channels %b : tensor<64xf32> -> tensor<8x64x56x56xf32>
    ```
  }];
  let arguments = (ins NN_PerChannel:$input);
  let results = (outs NN_Channels:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Borders
//===----------------------------------------------------------------------===//

def NN_PadOp : NN_LayerOp<"pad", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<DifferentiableOpInterface>,
    DeclareOpInterfaceMethods<LayerOpInterface, ["getLayer", "getCuts"]>]> {
  let summary = "Images with a border.";
  let description = [{
    `padding` has how many rows of `value` are put on top, columns left, rows at
    the bottom, and columns right. Zeros around a convolution's input become its
    padding.

    Constraints: (C1) there are four paddings, of at least 0.

    ```mlir
    %y = nn.pad %x {padding = [0, 0, 1, 1], value = 0.0}
        : tensor<8x64x56x56xf32>
    ```
  }];
  let arguments = (ins NN_Images:$input, I64ArrayAttr:$padding,
                       DefaultValuedAttr<F64Attr, "0.0">:$value);
  let results = (outs NN_Images:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasFolder = 1;
}

#endif // ESPALIER_DIALECT_NN_IR_NNLAYEROPS
