"""What shipping a model came to, in sentences."""

from engine.shipping.shipped_record import Shipped


def shipped_sentences(shipped: Shipped) -> list[str]:
    """The proof first, then what the model costs beside the dense one, then what to know."""
    dense, here = shipped.dense_costs, shipped.costs
    texts = [
        f"{shipped.n_equal:,} of {shipped.n_answers:,} answers equal, given by {shipped.answers_by}.",
        f"Weights {here['weights']:,} of {dense['weights']:,}, in the file {here['stored']:,}; multiplications per "
        f"image {here['macs']:,} of {dense['macs']:,}; {here['bytes']:,} bytes of {dense['bytes']:,}, zipped "
        f"{here['bytes_zipped']:,} of {dense['bytes_zipped']:,}.",
    ]
    for batch, now in here["milliseconds"].items():
        was = dense["milliseconds"][batch]
        texts.append(
            f"Batch of {batch.removeprefix('batch_')}: {now['median']:.3g} ms ({now['low']:.3g} to {now['high']:.3g}), "
            f"dense {was['median']:.3g} ms ({was['low']:.3g} to {was['high']:.3g})."
        )
    return [*texts, *shipped.notes]
