"""A trained network that a user brings: its weights, kept in the study, take the dense training's place."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from engine.errors import PruneScopeError
from engine.run_spec import RunSpec
from engine.store.files import write_file
from engine.store.study import Study

LETTERS = 16
"""Of the digest, which name the file and stand in the spec."""
Weights = nn.Module | Mapping[str, Tensor] | str | Path


def keep_weights(study: Study, weights: Weights) -> str:
    """Name of the weights in the study, for `RunSpec.weights`: a network, its state_dict, or a file of that.

    Files are safetensors: nothing is unpickled.
    """
    tensors = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in _tensors(weights).items()}
    content = save(dict(sorted(tensors.items())))
    name = hashlib.sha256(content).hexdigest()[:LETTERS]
    path = weights_file(study, name)
    if not path.exists():
        write_file(path, content)
    return name


def load_weights(study: Study, spec: RunSpec, network: nn.Module) -> None:
    """Give the network the weights that the spec names, refused where they are not those of such a network."""
    path = weights_file(study, spec.weights)
    try:
        content = path.read_bytes()
    except OSError:
        raise PruneScopeError(
            f"The study has no weights {spec.weights!r}; bring them with --weights FILE, or Study.run(weights=...)."
        ) from None
    if hashlib.sha256(content).hexdigest()[:LETTERS] != spec.weights:
        raise PruneScopeError(f"weights/{path.name} is damaged: its content is not what its name says.")
    given, own = load(content), network.state_dict()
    for name in (*own, *given):
        if name not in given or name not in own:
            where = "the weights lack it" if name not in given else f"{spec.network} has no such tensor"
            raise PruneScopeError(f"The weights do not fit {spec.network}: of {name!r}, {where}.")
        if given[name].shape != own[name].shape:
            raise PruneScopeError(
                f"The weights do not fit {spec.network}: {name!r} is {tuple(given[name].shape)}, and should be "
                f"{tuple(own[name].shape)}."
            )
    network.load_state_dict(given)


def weights_file(study: Study, name: str) -> Path:
    """Where weights of this name lie in a study."""
    return study.path / "weights" / f"{name}.safetensors"


def _tensors(weights: Weights) -> Mapping[str, Tensor]:
    if isinstance(weights, nn.Module):
        return dict(weights.state_dict())
    found: object = weights
    if isinstance(weights, str | Path):
        path = Path(weights).expanduser()
        try:
            found = load(path.read_bytes())
        except OSError as error:
            raise PruneScopeError(f"{path} cannot be read: {error.strerror}.") from error
        except SafetensorError as error:
            raise PruneScopeError(
                f"{path} is no safetensors file ({str(error).splitlines()[0][:120]}), and nothing is unpickled here. "
                "Write one with safetensors.torch.save_file(network.state_dict(), path)."
            ) from error
    if isinstance(found, Mapping) and isinstance(found.get("state_dict"), Mapping):
        found = found["state_dict"]
    if not isinstance(found, Mapping) or not found or not all(isinstance(part, Tensor) for part in found.values()):
        raise PruneScopeError("The weights should be a state_dict: names and tensors.")
    return {str(name).removeprefix("module."): tensor for name, tensor in found.items()}
