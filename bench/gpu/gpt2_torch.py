"""GPT-2 in PyTorch as `kiln bench gpt2` has it: the same text, the weights Kiln saved, the same steps.
gpt2_torch.py WEIGHTS [--steps N] [--layers N] ... [--compile]   prints 'loss STEP VALUE' and the time of a step."""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import load_file


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.attn(self.ln_1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.wte = nn.Parameter(torch.empty(o.vocabulary, o.width))
        self.wpe = nn.Parameter(torch.empty(o.context, o.width))
        self.blocks = nn.ModuleList(Block(o.width, o.heads) for _ in range(o.layers))
        self.ln_f = nn.LayerNorm(o.width)

    def forward(self, tokens, targets):
        x = F.embedding(tokens, self.wte) + self.wpe[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.wte)
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def make_tokens(o, batch):
    state, at, tokens = 12345 + batch, 0, []
    for _ in range(o.batch * (o.context + 1)):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        draw = state >> 33
        at = draw // 8 % o.vocabulary if draw % 8 == 0 else (at * 17 + 3) % o.vocabulary
        tokens.append(at)
    return torch.tensor(tokens).view(o.batch, o.context + 1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("weights")
    for name, value in dict(layers=12, width=768, heads=12, context=1024, batch=16, vocabulary=50304, steps=30).items():
        p.add_argument("--" + name, type=int, default=value)
    p.add_argument("--dtype", default="bf16")
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    p.add_argument("--compile", action="store_true")
    o = p.parse_args()
    model = Gpt2(o)
    model.load_state_dict(load_file(o.weights))
    model.to(o.device)
    batches = [make_tokens(o, i).to(o.device) for i in range(4)]
    fused = o.device != "cpu"
    optim = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=fused)
    forward = torch.compile(model) if o.compile else model
    losses, warm, start = [], 5 if o.steps > 10 else 1, 0.0

    def sync():
        if o.device != "cpu":
            torch.cuda.synchronize()

    for step in range(o.steps):
        tokens = batches[step % 4]
        with torch.autocast(o.device, torch.bfloat16, enabled=o.dtype == "bf16"):
            loss = forward(tokens[:, :-1], tokens[:, 1:])
        optim.zero_grad(set_to_none=True)
        loss.backward()
        optim.step()
        losses.append(loss.detach())
        if step + 1 == warm:
            sync()
            start = time.perf_counter()
    sync()
    ms = (time.perf_counter() - start) * 1e3 / max(1, o.steps - warm)
    for step, loss in enumerate(losses):
        print(f"loss {step} {loss.item():.6f}")
    print(f"gpt2 {ms:.3f} ms a step, {o.batch * o.context / ms * 1e3:.0f} tokens a second")


if __name__ == "__main__":
    main()
