"""A small model with what real ones have: layers that run the same code, one module with two names, tied weights, buffers,
convolutions, pooling, norms. For the real torch and for stub_torch.
"""
import sys
import time

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.num_heads, self.scale, self.name = heads, width ** -0.5, "it's \"q\\k\"\n"
        self.rope, self.window, self._private, self.big = None, (width, [1, 2.5]), 7, 2 ** 70
        self.shape_hint = (width,)
        self.longest, self.uneven = sys.maxsize, (-1, [2 ** 53 + 1])  # which no double holds
        self.q_proj, self.k_proj = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.out_proj = nn.Linear(width, width)
        self.register_buffer("mask", torch.zeros(4, 4))
        self.register_buffer("nothing", None)

    def forward(self, x):
        self.k_proj(x)
        return self.out_proj(self.q_proj(x))


class Block(nn.Module):
    def __init__(self, width, norm, number):
        super().__init__()
        self.layer_idx = number
        self.attn = Attention(width, 2)
        self.norm, self.shared = norm, norm  # one module with two names
        self.act, self.drop, self.skip = nn.ReLU(inplace=number == 1), nn.Dropout(0.1), nn.Identity()
        self.absent = None

    def forward(self, x):
        return self.skip(self.drop(self.act(self.norm(self.attn(x)))))


class Model(nn.Module):
    def __init__(self, width=8, blocks=3):
        super().__init__()
        self.embed = nn.Embedding(11, width)
        self.layers = nn.ModuleList([Block(width, nn.LayerNorm(width, eps=1e-6), i) for i in range(blocks)])
        self.vision = nn.Sequential(
            nn.Conv2d(4, 8, (3, 5), stride=2, padding=(1, 1), groups=2), nn.BatchNorm2d(8), nn.MaxPool2d(2, padding=1),
            nn.AvgPool2d((2, 2), stride=2), nn.AdaptiveAvgPool2d((3, 3)), nn.Upsample(scale_factor=2),
            nn.UpsamplingNearest2d(scale_factor=4), nn.ConvTranspose2d(8, 4, 2))
        self.lm_head = nn.Linear(width, 11, bias=False)
        self.lm_head.weight = self.embed.weight  # tied
        self._layer_ns = [[] for _ in range(blocks)]

    def forward(self, x):
        x = self.embed(x)
        for layer, spent in zip(self.layers, self._layer_ns):
            begin = time.perf_counter_ns()
            x = layer(x)
            spent.append(time.perf_counter_ns() - begin)
        return self.lm_head(x)
