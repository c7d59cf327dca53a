"""Networks over images, as in model_small.c (LeNet), model_resnet.c, model_vgg.c, model_mobilenet.c, model_convnext.c, model_unet.c,
model_dcgan.c and model_encoder.c (ViT)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2).flatten(1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class Block(nn.Module):
    def __init__(self, inputs, width, stride, deep):
        super().__init__()
        self.deep, out = deep, 4 * width if deep else width
        first, second = (1, 3) if deep else (3, 3)
        self.conv1 = nn.Conv2d(inputs, width, first, 1 if deep else stride, first // 2, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, second, stride if deep else 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        if deep:
            self.conv3, self.bn3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
        self.shortcut = None
        if stride != 1 or inputs != out:
            self.shortcut, self.bn_shortcut = nn.Conv2d(inputs, out, 1, stride, bias=False), nn.BatchNorm2d(out)

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.deep:
            y = self.bn3(self.conv3(F.relu(y)))
        if self.shortcut is not None:
            x = self.bn_shortcut(self.shortcut(x))
        return F.relu(y + x)


class ResNet(nn.Module):
    def __init__(self, counts, deep):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.blocks, inputs = nn.ModuleList(), 64
        for stage, count in enumerate(counts):
            for i in range(count):
                self.blocks.append(Block(inputs, 64 << stage, 2 if stage and not i else 1, deep))
                inputs = (256 if deep else 64) << stage
        self.fc = nn.Linear(inputs, 1000)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        for block in self.blocks:
            x = block(x)
        return self.fc(x.mean((2, 3)))


class Vgg(nn.Module):
    PLAN = [(64, 0), (64, 1), (128, 0), (128, 1), (256, 0), (256, 0), (256, 1), (512, 0), (512, 0), (512, 1), (512, 0),
            (512, 0), (512, 1)]

    def __init__(self):
        super().__init__()
        widths = [3] + [out for out, _ in self.PLAN]
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in zip(widths, widths[1:]))
        self.fc1, self.fc2, self.fc3 = nn.Linear(512 * 49, 4096), nn.Linear(4096, 4096), nn.Linear(4096, 1000)
        self.dropout = 0.1

    def forward(self, x):
        for conv, (_, pool) in zip(self.convs, self.PLAN):
            x = F.relu(conv(x))
            if pool:
                x = F.max_pool2d(x, 2)
        x = F.dropout(F.relu(self.fc1(x.flatten(1))), self.dropout, self.training)
        return self.fc3(F.dropout(F.relu(self.fc2(x)), self.dropout, self.training))


# factor, channels, count, stride, kernel
MOBILENET_V2 = [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 32, 3, 2, 3), (6, 64, 4, 2, 3), (6, 96, 3, 1, 3),
                (6, 160, 3, 2, 3), (6, 320, 1, 1, 3)]
EFFICIENTNET_B0 = [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5),
                   (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)]


class Inverted(nn.Module):
    def __init__(self, inputs, factor, out, stride, kernel, silu):
        super().__init__()
        wide = inputs * factor
        self.act = F.silu if silu else F.relu6
        self.widens, self.silu, self.joins = factor != 1, silu, stride == 1 and inputs == out
        if self.widens:
            self.expand, self.bn_expand = nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide)
        self.depth = nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide, bias=False)
        self.bn_depth = nn.BatchNorm2d(wide)
        if silu:
            self.squeeze, self.excite = nn.Conv2d(wide, inputs // 4, 1), nn.Conv2d(inputs // 4, wide, 1)
        self.project, self.bn_project = nn.Conv2d(wide, out, 1, bias=False), nn.BatchNorm2d(out)

    def forward(self, x):
        y = x
        if self.widens:
            y = self.act(self.bn_expand(self.expand(y)))
        y = self.act(self.bn_depth(self.depth(y)))
        if self.silu:
            y = y * torch.sigmoid(self.excite(F.silu(self.squeeze(y.mean((2, 3), keepdim=True)))))
        y = self.bn_project(self.project(y))
        return x + y if self.joins else y


class MobileNet(nn.Module):
    def __init__(self, stages, silu):
        super().__init__()
        self.act = F.silu if silu else F.relu6
        self.stem, self.bn_stem = nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32)
        self.blocks, inputs = nn.ModuleList(), 32
        for factor, out, count, stride, kernel in stages:
            for i in range(count):
                self.blocks.append(Inverted(inputs, factor, out, 1 if i else stride, kernel, silu))
                inputs = out
        self.head, self.bn_head = nn.Conv2d(inputs, 1280, 1, bias=False), nn.BatchNorm2d(1280)
        self.fc = nn.Linear(1280, 1000)
        self.dropout = 0.1

    def forward(self, x):
        x = self.act(self.bn_stem(self.stem(x)))
        for block in self.blocks:
            x = block(x)
        x = self.act(self.bn_head(self.head(x))).mean((2, 3))
        return self.fc(F.dropout(x, self.dropout, self.training))


class Next(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depth = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x):
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        y = self.scale * self.down(F.gelu(self.up(y)))
        return x + y.permute(0, 3, 1, 2)


class Halving(nn.Module):
    def __init__(self, inputs, out, by, first):
        super().__init__()
        self.first = first
        self.norm = nn.LayerNorm(out if first else inputs)
        self.conv = nn.Conv2d(inputs, out, by, by)

    def forward(self, x):
        if self.first:
            x = self.conv(x)
        x = self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return x if self.first else self.conv(x)


class ConvNext(nn.Module):
    def __init__(self):
        super().__init__()
        widths, self.counts = [3, 96, 192, 384, 768], [3, 3, 9, 3]
        self.halvings = nn.ModuleList(Halving(widths[i], widths[i + 1], 2 if i else 4, not i) for i in range(4))
        self.blocks = nn.ModuleList(Next(widths[g + 1]) for g in range(4) for _ in range(self.counts[g]))
        self.norm, self.fc = nn.LayerNorm(768), nn.Linear(768, 1000)

    def forward(self, x):
        blocks = iter(self.blocks)
        for halving, count in zip(self.halvings, self.counts):
            x = halving(x)
            for _ in range(count):
                x = next(blocks)(x)
        return self.fc(self.norm(x.mean((2, 3))))


class Pair(nn.Module):
    def __init__(self, inputs, out):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, out, 3, padding=1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, padding=1, bias=False), nn.BatchNorm2d(out)

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))


class UNet(nn.Module):
    DEPTH, NARROW = 4, 64

    def __init__(self):
        super().__init__()
        widths = [self.NARROW << i for i in range(self.DEPTH + 1)]
        self.down = nn.ModuleList(Pair(widths[i - 1] if i else 3, widths[i]) for i in range(self.DEPTH + 1))
        ups = widths[-2::-1]
        self.wider = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in ups)
        self.up = nn.ModuleList(Pair(2 * w, w) for w in ups)
        self.classes = nn.Conv2d(self.NARROW, 2, 1)

    def forward(self, x):
        sides = []
        for pair in self.down[:-1]:
            sides.append(pair(x))
            x = F.max_pool2d(sides[-1], 2)
        x = self.down[-1](x)
        for wider, pair, side in zip(self.wider, self.up, reversed(sides)):
            x = pair(torch.cat([side, wider(x)], 1))
        return self.classes(x)


class Generator(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.convs = nn.ModuleList(
            nn.ConvTranspose2d(widths[i], widths[i + 1], 4, 2 if i else 1, 1 if i else 0, bias=False) for i in range(5))
        self.norms = nn.ModuleList(nn.BatchNorm2d(widths[i + 1]) for i in range(4))

    def forward(self, x):
        for i, conv in enumerate(self.convs):
            x = conv(x)
            if i < 4:
                x = F.relu(self.norms[i](x))
        return torch.tanh(x)


class Discriminator(nn.Module):
    def __init__(self, widths):
        super().__init__()
        ends = [(widths[i + 1], widths[i] if i else 1, i) for i in reversed(range(5))]
        self.convs = nn.ModuleList(
            nn.Conv2d(a, b, 4, 2 if i else 1, 1 if i else 0, bias=False) for a, b, i in ends)
        self.norms = nn.ModuleList(nn.BatchNorm2d(b) for _, b, _ in ends[1:4])

    def forward(self, x):
        for i, conv in enumerate(self.convs):
            x = conv(x)
            if 0 < i < 4:
                x = self.norms[i - 1](x)
            if i < 4:
                x = F.leaky_relu(x, 0.2)
        return x.flatten()


def believed(scores, real):
    scores = scores.float()
    return F.binary_cross_entropy_with_logits(scores, torch.full_like(scores, float(real)))


class Dcgan(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [100, 512, 256, 128, 64, 3]
        self.judge, self.maker = Discriminator(widths), Generator(widths)

    def forward(self, noise):
        return self.maker(noise)

    def phase_params(self, phase):
        return (self.maker if phase else self.judge).parameters()

    def phase_loss(self, inputs, phase):
        if phase:
            return believed(self.judge(self.maker(inputs[0])), True)
        made = self.maker(inputs[0]).detach()
        return believed(self.judge(inputs[1]), True) + believed(self.judge(made), False)


class Layer(nn.Module):
    """A block of ViT and BERT (torch_language.py), whose attention and feed-forward part they place differently."""

    def __init__(self, width=768, heads=12):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x, mask=None, dropout=0.0):
        q, k, v = (part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
        return self.output(y.transpose(1, 2).flatten(2))

    def feed(self, x):
        return self.down(F.gelu(self.up(x)))


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 768, 16, 16)
        self.token, self.positions = nn.Parameter(torch.zeros(1, 1, 768)), nn.Parameter(torch.zeros(1, 197, 768))
        self.layers = nn.ModuleList(Layer() for _ in range(12))
        self.norm, self.fc = nn.LayerNorm(768), nn.Linear(768, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        for layer in self.layers:
            x = x + layer.attend(layer.norm1(x))
            x = x + layer.feed(layer.norm2(x))
        return self.fc(self.norm(x)[:, 0])
