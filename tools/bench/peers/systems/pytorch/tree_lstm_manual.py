"""The Tree-LSTM as one function of autograd, with its backward pass by hand.

All states, gates and their gradients are in buffers over all vertices, sorted by
height, so that each parameter's gradient is one product over all of them.
"""

from __future__ import annotations

import torch

sigmoid_backward_ = torch.ops.aten.sigmoid_backward.grad_input
tanh_backward_ = torch.ops.aten.tanh_backward.grad_input
tanh_backward = torch.ops.aten.tanh_backward


def views(levels, *buffers):
    """The inner levels' parts of buffers without rows for leaves."""
    return zip(*(buffer.split(levels.counts[1:]) for buffer in buffers))


class ManualTreeLstm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, W, U, b, levels):
        size, counts = U.shape[0] // 2, levels.counts
        vertices, leaves = sum(counts), counts[0]
        h, c, t = torch.empty(3, vertices, size).unbind()
        hs, cs, ts = h.split(counts), c.split(counts), t.split(counts)

        leaf_W, leaf_b = (
            torch.cat([p[..., :size], p[..., 3 * size :]], -1) for p in (W, b)
        )
        leaf_gates = torch.addmm(leaf_b, x, leaf_W)
        sigmoids, u = leaf_gates.split((2 * size, size), 1)
        i, o = sigmoids.sigmoid_().chunk(2, 1)
        torch.mul(i, u.tanh_(), out=cs[0])
        torch.mul(o, torch.tanh(cs[0], out=ts[0]), out=hs[0])

        inner = vertices - leaves
        gates = torch.empty(inner, 5 * size)
        below, cells = torch.empty(2, inner, 2 * size).unbind()
        pairs = torch.from_numpy(levels.children).split([2 * n for n in counts[1:]])
        rows = views(levels, gates, below, cells)
        for level, (pair, (gate, hh, cc)) in enumerate(zip(pairs, rows), 1):
            torch.index_select(h, 0, pair, out=hh.view(-1, size))
            torch.index_select(c, 0, pair, out=cc.view(-1, size))
            torch.addmm(b, hh, U, out=gate)
            sigmoids, u = gate.split((4 * size, size), 1)
            i, left, right, o = sigmoids.sigmoid_().chunk(4, 1)
            c_left, c_right = cc.chunk(2, 1)
            torch.mul(i, u.tanh_(), out=cs[level])
            cs[level].addcmul_(left, c_left).addcmul_(right, c_right)
            torch.mul(o, torch.tanh(cs[level], out=ts[level]), out=hs[level])
        ctx.levels, ctx.pairs = levels, pairs
        ctx.save_for_backward(x, W, U, leaf_W, leaf_gates, gates, below, cells, t)
        return h

    @staticmethod
    def backward(ctx, d_h):
        x, W, U, leaf_W, leaf_gates, gates, below, cells, t = ctx.saved_tensors
        levels, size = ctx.levels, U.shape[0] // 2
        counts = levels.counts
        d_h, d_c = d_h.clone(), torch.zeros_like(d_h)
        d_hs, d_cs, ts = d_h.split(counts), d_c.split(counts), t.split(counts)
        d_gates, transposed = torch.empty_like(gates), U.t()
        rows = list(views(levels, gates, d_gates, cells))
        for level in range(len(counts) - 1, 0, -1):
            gate, d_gate, cc = rows[level - 1]
            pair, dh, dc = ctx.pairs[level - 1], d_hs[level], d_cs[level]
            i, _, _, o, u = gate.chunk(5, 1)
            d_i, d_left, d_right, d_o, d_u = d_gate.chunk(5, 1)
            c_left, c_right = cc.chunk(2, 1)
            torch.mul(dh, ts[level], out=d_o)
            dc += tanh_backward(dh * o, ts[level])
            torch.mul(dc, u, out=d_i)
            torch.mul(dc, c_left, out=d_left)
            torch.mul(dc, c_right, out=d_right)
            torch.mul(dc, i, out=d_u)
            before, after = d_gate[:, : 4 * size], gate[:, : 4 * size]
            sigmoid_backward_(before, after, grad_input=before)
            tanh_backward_(d_u, u, grad_input=d_u)
            forget = gate[:, size : 3 * size].unflatten(1, (2, size))
            d_cells = (dc.unsqueeze(1) * forget).view(-1, size)
            d_c.index_copy_(0, pair, d_cells)
            d_h.index_add_(0, pair, torch.mm(d_gate, transposed).view(-1, size))

        dh, dc = d_hs[0], d_cs[0]
        sigmoids, u = leaf_gates.split((2 * size, size), 1)
        i, o = sigmoids.chunk(2, 1)
        d_leaf = torch.empty_like(leaf_gates)
        d_sigmoids, d_u = d_leaf.split((2 * size, size), 1)
        d_i, d_o = d_sigmoids.chunk(2, 1)
        torch.mul(dh, ts[0], out=d_o)
        dc += tanh_backward(dh * o, ts[0])
        torch.mul(dc, u, out=d_i)
        torch.mul(dc, i, out=d_u)
        sigmoid_backward_(d_sigmoids, sigmoids, grad_input=d_sigmoids)
        tanh_backward_(d_u, u, grad_input=d_u)

        d_leaf_W, d_leaf_b = x.t() @ d_leaf, d_leaf.sum(0)
        d_W, d_b = torch.zeros_like(W), d_gates.sum(0)
        d_W[:, :size], d_W[:, 3 * size :] = d_leaf_W.split((size, 2 * size), 1)
        d_b[:size] += d_leaf_b[:size]
        d_b[3 * size :] += d_leaf_b[size:]
        return d_leaf @ leaf_W.t(), d_W, below.t() @ d_gates, d_b, None
