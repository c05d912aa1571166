"""The layers of the package, without its tests: those may import from anywhere."""

from grimp import ImportGraph
from importlinter.contracts.layers import LayersContract
from importlinter.domain.contract import ContractCheck


class SourceLayers(LayersContract):
    """Import-linter's layers for all modules but the tests beside them."""

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        for module in [name for name in graph.modules if name.rsplit(".", 1)[-1].startswith("test_")]:
            graph.remove_module(module)
        return super().check(graph, verbose)
