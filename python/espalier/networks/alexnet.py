"""AlexNet (Krizhevsky et al. 2012) in 23 layers, as Caffe's bvlc_alexnet has it.

    conv1 relu1 lrn1 pool1 conv2 relu2 lrn2 pool2 conv3 relu3 conv4 relu4 conv5
    relu5 pool5 fc1 relu6 drop1 fc2 relu7 drop2 fc3 softmax

The image has 227x227 elements. conv2, conv4 and conv5 are in two groups; with
`groups=False` they are not, as in many later versions: more parameters, the same
shapes in between. Of a batch of 200, conv1 gives 221.56 MiB and conv2 142.38 MiB
either way.
"""


def build(n):
    groups = 2 if n.options.groups else 1

    x = n.convolution("conv1", n.image(), n.channels(96), 11, stride=4, bias=True)
    x = n.lrn("lrn1", n.relu("relu1", x))
    x = n.max_pool("pool1", x, 3, 2, round_up=True)
    x = n.convolution(
        "conv2", x, n.channels(256), 5, padding=2, groups=groups, bias=True
    )
    x = n.lrn("lrn2", n.relu("relu2", x))
    x = n.max_pool("pool2", x, 3, 2, round_up=True)
    x = n.convolution("conv3", x, n.channels(384), 3, padding=1, bias=True)
    x = n.relu("relu3", x)
    x = n.convolution(
        "conv4", x, n.channels(384), 3, padding=1, groups=groups, bias=True
    )
    x = n.relu("relu4", x)
    x = n.convolution(
        "conv5", x, n.channels(256), 3, padding=1, groups=groups, bias=True
    )
    x = n.relu("relu5", x)
    x = n.max_pool("pool5", x, 3, 2, round_up=True)

    x = n.relu("relu6", n.dense("fc1", x, n.channels(4096)))
    x = n.dropout("drop1", x, 0.5)
    x = n.relu("relu7", n.dense("fc2", x, n.channels(4096)))
    x = n.dropout("drop2", x, 0.5)
    n.classify("softmax", n.dense("fc3", x, n.options.classes))
