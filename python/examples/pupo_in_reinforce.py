"""Plain REINFORCE for the TSP in PyTorch, made Purity Policy Optimization by one line."""
import torch
from torch import Tensor, nn
import puretour

class AttentionModel(nn.Module):
    def __init__(self, width: int = 64, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True)
        self.embed, self.encoder = nn.Linear(2, width), nn.TransformerEncoder(layer, layers)
        self.query, self.key = nn.Linear(2 * width, width), nn.Linear(width, width)

    def forward(self, points: Tensor) -> tuple[Tensor, Tensor]:  # (B, N, 2) -> tours (B, N), log-probabilities (B, N)
        nodes = self.encoder(self.embed(points))
        keys, rows, log_probs = self.key(nodes), torch.arange(len(points)), [torch.zeros(len(points))]
        tours = [torch.zeros_like(rows)]
        visited = torch.zeros(points.shape[:2], dtype=torch.bool)
        for _ in range(points.shape[1] - 1):
            visited = visited.index_put((rows, tours[-1]), torch.tensor(True))
            query = self.query(torch.cat([nodes[rows, tours[0]], nodes[rows, tours[-1]]], 1))
            logits = 10 * torch.tanh(torch.einsum("bd,bnd->bn", query, keys) / keys.shape[2] ** 0.5)
            log_p = torch.log_softmax(logits.masked_fill(visited, -torch.inf), 1)
            tours.append(torch.multinomial(log_p.exp(), 1)[:, 0])
            log_probs.append(log_p[rows, tours[-1]])
        return torch.stack(tours, 1), torch.stack(log_probs, 1)

def train(steps: int = 200, batch: int = 128, nodes: int = 20) -> None:
    optimiser = torch.optim.Adam((model := AttentionModel()).parameters(), lr=5e-4)
    for step in range(steps):
        tours, log_probs = model(points := torch.rand(batch, nodes, 2))
        lengths = puretour.tour_length(points, tours).float()
        log_probs = log_probs * puretour.pupo_weights(points, tours)  # this line makes it PUPO
        loss = ((lengths - lengths.mean()) * log_probs.sum(1)).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        print(f"step {step}: mean length {lengths.mean():.3f}", end="\n" if step % 50 == 0 else "\r")

if __name__ == "__main__":
    train()
