"""VGG (Simonyan and Zisserman 2014): convolutions of 3x3, in stages.

A stage ends with a pooling that halves the image. `blocks` has the number of
convolutions of each stage: D of the paper is VGG16, E is VGG19.
"""

STAGES = (64, 128, 256, 512, 512)


def build(n):
    x = n.image()
    for stage, (channels, count) in enumerate(zip(STAGES, n.options.blocks), 1):
        for number in range(1, count + 1):
            name = f"{stage}.{number}"
            x = n.convolution(
                f"conv{name}", x, n.channels(channels), 3, padding=1, bias=True
            )
            x = n.relu(f"relu{name}", x)
        x = n.max_pool(f"pool{stage}", x, 2, 2, round_up=True)

    for number in (6, 7):
        x = n.dense(f"fc{number}", x, n.channels(4096))
        x = n.dropout(f"drop{number}", n.relu(f"relu{number}", x), 0.5)
    n.classify("softmax", n.dense("fc8", x, n.options.classes))
