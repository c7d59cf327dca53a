"""What is neither vision nor language, as in model_volume.c, model_recurrent.c and model_small.c (MLP, recommender)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Causal(nn.Module):
    def __init__(self, inputs, width, dilation):
        super().__init__()
        self.before = 2 * dilation
        self.conv1 = nn.Conv1d(inputs, width, 3, dilation=dilation)
        self.conv2 = nn.Conv1d(width, width, 3, dilation=dilation)
        self.shortcut = nn.Conv1d(inputs, width, 1) if inputs != width else None
        self.dropout = 0.1

    def forward(self, x):
        y = F.dropout(F.relu(self.conv1(F.pad(x, (self.before, 0)))), self.dropout, self.training)
        y = F.dropout(F.relu(self.conv2(F.pad(y, (self.before, 0)))), self.dropout, self.training)
        return F.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class Temporal(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Causal(128 if i else 16, 128, 1 << i) for i in range(6))
        self.fc = nn.Linear(128, 10)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.fc(x[:, :, -1])


class Volume(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [3, 32, 64, 128, 256]
        self.convs = nn.ModuleList(nn.Conv3d(a, b, 3, padding=1, bias=False) for a, b in zip(widths, widths[1:]))
        self.norms = nn.ModuleList(nn.BatchNorm3d(b) for b in widths[1:])
        self.fc1, self.fc2 = nn.Linear(256, 256), nn.Linear(256, 101)
        self.dropout = 0.1

    def forward(self, x):
        for conv, norm in zip(self.convs, self.norms):
            x = F.max_pool3d(F.relu(norm(conv(x))), 2)
        x = F.relu(self.fc1(x.mean((2, 3, 4))))
        return self.fc2(F.dropout(x, self.dropout, self.training))


class LstmNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.fc = nn.Embedding(10000, 256), nn.Linear(256, 10000)
        self.lstm = nn.LSTM(256, 256, num_layers=2, batch_first=True)

    def forward(self, tokens):
        return self.fc(self.lstm(self.words(tokens))[0])


class GruNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.fc = nn.Embedding(10000, 256), nn.Linear(512, 20)
        self.gru = nn.GRU(256, 256, num_layers=2, bidirectional=True, batch_first=True)

    def forward(self, tokens):
        return self.fc(self.gru(self.words(tokens))[0].mean(1))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [784, 1024, 1024, 512, 10]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def forward(self, x):
        x = self.layers[0](x)
        for layer in self.layers[1:]:
            x = layer(F.relu(x))
        return x


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(100000, 64) for _ in range(8))
        bottom, top = [13, 512, 256, 64], [64 + 81, 512, 256, 1]
        self.bottom = nn.ModuleList(nn.Linear(a, b) for a, b in zip(bottom, bottom[1:]))
        self.top = nn.ModuleList(nn.Linear(a, b) for a, b in zip(top, top[1:]))

    def forward(self, dense, indices):
        for layer in self.bottom:
            dense = F.relu(layer(dense))
        rows = [table(indices[:, i]) for i, table in enumerate(self.tables)]
        every = torch.stack([dense] + rows, 1)
        x = torch.cat([dense, (every @ every.transpose(1, 2)).flatten(1)], 1)
        for layer in self.top[:-1]:
            x = F.relu(layer(x))
        return self.top[-1](x).squeeze(1)
