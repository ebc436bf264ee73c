"""Every data set with a few examples, written in its true format without the engine's help."""

import io
import pickle
import string
import struct
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy.io import savemat

RANDOM = np.random.default_rng(0)
CELEBA_NAMES = (
    "5_o_Clock_Shadow Arched_Eyebrows Attractive Bags_Under_Eyes Bald Bangs Big_Lips Big_Nose Black_Hair Blond_Hair "
    "Blurry Brown_Hair Bushy_Eyebrows Chubby Double_Chin Eyeglasses Goatee Gray_Hair Heavy_Makeup High_Cheekbones Male "
    "Mouth_Slightly_Open Mustache Narrow_Eyes No_Beard Oval_Face Pale_Skin Pointy_Nose Receding_Hairline Rosy_Cheeks "
    "Sideburns Smiling Straight_Hair Wavy_Hair Wearing_Earrings Wearing_Hat Wearing_Lipstick Wearing_Necklace "
    "Wearing_Necktie Young"
)
N_QMNIST = {"train": 80, "test": 40}


def noise(*shape: int) -> np.ndarray:
    """Random pixels."""
    return RANDOM.integers(0, 256, shape, np.uint8)


def idx_bytes(array: np.ndarray) -> bytes:
    """The array as an idx file: uint8 as bytes, all else as big-endian int32."""
    kind, stored = (8, array) if array.dtype == np.uint8 else (12, array.astype(">i4"))
    return struct.pack(f">HBB{array.ndim}I", 0, kind, array.ndim, *array.shape) + stored.tobytes()


def write_idx_pair(folder: Path, prefix: str, images: np.ndarray, labels: np.ndarray) -> None:
    """Images and labels as two files of the MNIST family."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{prefix}-images-idx3-ubyte").write_bytes(idx_bytes(images))
    (folder / f"{prefix}-labels-idx1-ubyte").write_bytes(idx_bytes(labels.astype(np.uint8)))


def write_idx_sets(root: Path) -> None:
    """MNIST, Fashion-MNIST, KMNIST and EMNIST."""
    for folder in ("MNIST", "FashionMNIST", "KMNIST"):
        write_idx_pair(root / folder / "raw", "train", noise(20, 28, 28), np.arange(20) % 10)
        write_idx_pair(root / folder / "raw", "t10k", noise(10, 28, 28), np.arange(10))
    for prefix in ("emnist-byclass-train", "emnist-byclass-test"):
        images = np.zeros((62, 28, 28), np.uint8)
        # EMNIST's files hold columns before rows: a bar that stands upright lies in them.
        images[:, 14, 4:24] = 255
        write_idx_pair(root / "EMNIST" / "raw", prefix, images, np.arange(62))


def write_qmnist(root: Path) -> None:
    """QMNIST: five training writers of hsf0 and three of hsf4, ten digits each; other writers in the test files."""
    folder = root / "QMNIST" / "raw"
    folder.mkdir(parents=True, exist_ok=True)
    for part, first_writer in (("train", 0), ("test", 100)):
        number = np.arange(N_QMNIST[part])
        writer = first_writer + number // 10
        series = np.where(writer % 100 < 5, 0, 4)
        digit = number % 10
        table = np.stack([digit, series, writer, digit, 30 + digit, number, 0 * digit, 0 * digit], axis=1)
        order = RANDOM.permutation(len(table))
        (folder / f"qmnist-{part}-images-idx3-ubyte").write_bytes(idx_bytes(noise(len(table), 28, 28)))
        (folder / f"qmnist-{part}-labels-idx2-int").write_bytes(idx_bytes(table[order]))


_Pickler: Any = pickle._Pickler


class _Python2Pickler(_Pickler):
    """Writes text and bytes as Python 2's byte strings, as CIFAR's authors did."""

    dispatch = _Pickler.dispatch.copy()

    def _save_string(self, value: str | bytes) -> None:
        raw = value.encode() if isinstance(value, str) else value
        self.write(pickle.BINSTRING + struct.pack("<i", len(raw)) + raw)
        self.memoize(value)

    dispatch[str] = dispatch[bytes] = _save_string


def python2_pickle(content: Any) -> bytes:
    """The content as Python 2 and its numpy pickled it."""
    file = io.BytesIO()
    _Python2Pickler(file, protocol=2).dump(content)
    return file.getvalue().replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")


def write_cifar(root: Path) -> None:
    """CIFAR-10 in five training batches and CIFAR-100 in one."""
    ten, hundred = root / "cifar-10-batches-py", root / "cifar-100-python"
    for folder in (ten, hundred):
        folder.mkdir()
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        batch = {"batch_label": name, "labels": list(range(10)), "data": noise(10, 3072), "filenames": ["a.png"] * 10}
        (ten / name).write_bytes(python2_pickle(batch))
    (ten / "batches.meta").write_bytes(python2_pickle({"label_names": [f"thing {n}" for n in range(10)]}))
    for name in ("train", "test"):
        fine = list(range(100))
        coarse = [label // 5 for label in fine]
        batch = {"fine_labels": fine, "coarse_labels": coarse, "data": noise(100, 3072)}
        (hundred / name).write_bytes(python2_pickle(batch))
    names = {"fine_label_names": [f"kind {n}" for n in range(100)], "coarse_label_names": list(string.ascii_lowercase)}
    (hundred / "meta").write_bytes(python2_pickle(names))


def write_svhn(root: Path) -> None:
    """SVHN, whose files call the digit 0 "10"."""
    for part in ("train", "test"):
        savemat(root / f"{part}_32x32.mat", {"X": noise(32, 32, 3, 10), "y": np.arange(1, 11, dtype=np.uint8)[:, None]})


def write_image(path: Path, pixels: np.ndarray) -> None:
    """One image file, format by suffix, with the folders it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def write_celeba(root: Path) -> None:
    """CelebA: six training, two validation and two test faces; every second one is blond, every third one male."""
    folder = root / "celeba"
    names = CELEBA_NAMES.split()
    lines = []
    for number in range(10):
        write_image(folder / "img_align_celeba" / f"{number + 1:06}.jpg", noise(218, 178, 3))
        present = {"Blond_Hair": number % 2 == 0, "Male": number % 3 == 0}
        values = " ".join(f"{1 if present.get(name, False) else -1:2}" for name in names)
        lines.append(f"{number + 1:06}.jpg {values}")
    (folder / "list_attr_celeba.txt").write_text("\n".join(["10", CELEBA_NAMES + " ", *lines]) + "\n")
    partition = [0] * 6 + [1] * 2 + [2] * 2
    (folder / "list_eval_partition.txt").write_text(
        "".join(f"{number + 1:06}.jpg {part}\n" for number, part in enumerate(partition))
    )


def write_utkface(root: Path) -> None:
    """UTKFace: thirty faces, and one whose name lacks the ethnicity, as some of the real ones do."""
    for number in range(30):
        age, gender, ethnicity = 4 * number, number % 2, number % 5
        name = f"{age}_{gender}_{ethnicity}_20170116{number:09}.jpg.chip.jpg"
        write_image(root / "UTKFace" / name, noise(40, 40, 3))
    write_image(root / "UTKFace" / "61_1_20170109150557335.jpg.chip.jpg", noise(40, 40, 3))


def write_folder(root: Path) -> None:
    """The user's own grey images: three of each class to train, two to test, grouped by camera."""
    lines = ["file,camera,place"]
    for side, n_images in (("train", 3), ("test", 2)):
        for name in ("cat", "dog"):
            for number in range(n_images):
                file = f"{side}/{name}/{number}.png"
                write_image(root / "folder" / file, noise(30, 20))
                lines.append(f"{file},{'old' if number else 'new'},")
    (root / "folder" / "groups.csv").write_text("\n".join(lines) + "\n")


WRITERS = (
    write_idx_sets,
    write_qmnist,
    write_cifar,
    write_svhn,
    write_celeba,
    write_utkface,
    write_folder,
)
