"""Language models, as in model_encoder.c (BERT), model_t5.c and model_decoder.c (GPT-2 and a stack like Llama's)."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from torch_vision import Layer


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(30522, 768), nn.Embedding(512, 768)
        self.norm = nn.LayerNorm(768)
        self.layers = nn.ModuleList(Layer() for _ in range(12))
        self.pooler, self.fc = nn.Linear(768, 768), nn.Linear(768, 2)
        self.dropout = 0.1

    def forward(self, tokens, sees):
        p = self.dropout if self.training else 0.0
        mask = sees[:, None, None, :]
        x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
        x = F.dropout(self.norm(x), p, p > 0)
        for layer in self.layers:
            x = layer.norm1(x + F.dropout(layer.attend(x, mask, p), p, p > 0))
            x = layer.norm2(x + F.dropout(layer.feed(x), p, p > 0))
        return self.fc(F.dropout(torch.tanh(self.pooler(x[:, 0])), p, p > 0))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight, 1e-6)


def split(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


class Look(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = RmsNorm(512)
        self.q, self.k, self.v, self.o = (nn.Linear(512, 512, bias=False) for _ in range(4))

    def forward(self, x, other=None, bias=None):
        y = self.norm(x)
        source = y if other is None else other
        q, k, v = split(self.q(y), 8), split(self.k(source), 8), split(self.v(source), 8)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=None if bias is None else bias.to(q.dtype), scale=1.0)
        return x + self.o(y.transpose(1, 2).flatten(2))


class T5Layer(nn.Module):
    def __init__(self, decodes):
        super().__init__()
        self.self = Look()
        self.cross = Look() if decodes else None
        self.norm = RmsNorm(512)
        self.up, self.down = nn.Linear(512, 2048, bias=False), nn.Linear(2048, 512, bias=False)

    def forward(self, x, bias, encoded):
        x = self.self(x, None, bias)
        if self.cross is not None:
            x = self.cross(x, encoded)
        return x + self.down(F.relu(self.up(self.norm(x))))


def bucket(distance, both, buckets=32, far=128):
    n, base = (buckets // 2, buckets // 2 if distance > 0 else 0) if both else (buckets, 0)
    distance = abs(distance) if both else max(-distance, 0)
    exact = n // 2
    if distance < exact:
        return base + distance
    k = int(math.log(distance / exact) / math.log(far / exact) * (n - exact) + 1e-9)
    return base + min(exact + k, n - 1)


class Stack(nn.Module):
    def __init__(self, decodes, length=128):
        super().__init__()
        self.decodes = decodes
        self.distance = nn.Embedding(32, 8)
        self.layers = nn.ModuleList(T5Layer(decodes) for _ in range(6))
        self.norm = RmsNorm(512)
        at = [[bucket(k - q, not decodes) for k in range(length)] for q in range(length)]
        self.register_buffer("at", torch.tensor(at), persistent=False)
        later = torch.full((length, length), float("-inf")).triu(1)
        self.register_buffer("later", later, persistent=False)

    def forward(self, x, encoded=None):
        bias = self.distance(self.at).permute(2, 0, 1)[None]
        if self.decodes:
            bias = bias + self.later
        for layer in self.layers:
            x = layer(x, bias, encoded)
        return self.norm(x)


class T5(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(32128, 512)
        self.encoder, self.decoder = Stack(False), Stack(True)
        self.head = nn.Linear(512, 32128, bias=False)

    def forward(self, read, written):
        return self.head(self.decoder(self.words(written), self.encoder(self.words(read))))


class GptBlock(nn.Module):
    def __init__(self, width=768, heads=12):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.attn(self.ln_1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(50304, 768), nn.Embedding(1024, 768)
        self.blocks = nn.ModuleList(GptBlock() for _ in range(12))
        self.ln_f = nn.LayerNorm(768)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


def turn(x):
    """Rotary positions over the pairs i and i + half of the last axis."""
    half = x.shape[-1] // 2
    steps = torch.arange(x.shape[-2], device=x.device, dtype=torch.float32)[:, None]
    angle = steps * 10000.0 ** (-torch.arange(half, device=x.device, dtype=torch.float32) / half)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


class LlamaBlock(nn.Module):
    def __init__(self, width=1024, heads=16, shared=4, wide=2816):
        super().__init__()
        self.heads, self.shared = heads, shared
        size = width // heads * shared
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = nn.Linear(width, size, bias=False), nn.Linear(width, size, bias=False)
        self.gate, self.up = nn.Linear(width, wide, bias=False), nn.Linear(width, wide, bias=False)
        self.down = nn.Linear(wide, width, bias=False)

    def forward(self, x):
        y = self.norm1(x)
        q, k, v = split(self.q(y), self.heads), split(self.k(y), self.shared), split(self.v(y), self.shared)
        y = F.scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(32000, 1024)
        self.blocks = nn.ModuleList(LlamaBlock() for _ in range(8))
        self.norm, self.head = RmsNorm(1024), nn.Linear(1024, 32000, bias=False)

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
