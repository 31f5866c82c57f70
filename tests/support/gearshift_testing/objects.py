"""The table of objects.md as cells, and what must be true of each row in the new kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gearshift.state.reasons import sentence


@dataclass(frozen=True)
class Row:
    """Cells run in the old kernel; `after` runs in the new one and asserts; `named` cannot move, with its code."""

    title: str
    cells: list[str]
    after: str = ""
    named: dict[str, str] = field(default_factory=dict)
    noted: dict[str, str] = field(default_factory=dict)


def in_words(row: Row) -> str:
    """The row of the table in docs/how-to/what-travels.md."""
    kind = re.sub(r"^([0-9–]+|more:) ", "", row.title)
    told = {"error": "an error", "culprit": "a class"}
    why = "; ".join(f"`{name}`: {sentence(code, told)[0]}" for name, code in row.named.items())
    return f"| {kind} | {why or '–'} |"


ROWS = [
    Row(
        "1–6 numbers, nested lists, one list under two names, a list in itself, Decimal, datetime",
        [
            "number = 41\nnested = [1, [2, [3, 'x']], {'k': (1, 2)}]",
            "first = [1, 2]\nsecond = first\nloop = [1]\nloop.append(loop)",
            "from decimal import Decimal\nimport datetime\nprice = Decimal('0.10')\n"
            "when = datetime.datetime(2026, 11, 30, 20, 52, tzinfo=datetime.timezone.utc)",
        ],
        "assert number == 41 and nested == [1, [2, [3, 'x']], {'k': (1, 2)}]\n"
        "assert first is second and loop[1] is loop\n"
        "assert price == Decimal('0.10') and when.isoformat() == '2026-11-30T20:52:00+00:00'",
    ),
    Row(
        "7–10 data frames, an array, a view of it",
        [
            "import numpy as np, pandas as pd, polars as pl",
            "table = pd.DataFrame({'n': [1, 2], 'text': ['a', 'b']})\nfast = pl.DataFrame({'n': [1, 2], 't': ['x', 'y']})",
            "grid = np.zeros((4, 5))\npart = grid[1:3, ::2]\nfortran = np.asfortranarray(np.ones((3, 4)))\n"
            "column = fortran[:, 1]\nfrozen = np.arange(3)\nfrozen.flags.writeable = False\n"
            "names = np.array(['a', 'bb'])\nrecords = np.zeros(2, dtype=[('x', 'i4'), ('y', 'f8')])\n"
            "things = np.array([1, 'x'], dtype=object)\nempty = np.zeros((0, 3))\nbackwards = grid[::-1]",
        ],
        "assert table.equals(pd.DataFrame({'n': [1, 2], 'text': ['a', 'b']}))\n"
        "assert fast.equals(pl.DataFrame({'n': [1, 2], 't': ['x', 'y']}))\n"
        "assert part.base is grid and column.base is fortran\n"
        "grid[1, 2] = 7; assert part[0, 1] == 7 and backwards[2, 2] == 7\n"
        "fortran[2, 1] = 9; assert column[2] == 9 and fortran.flags.f_contiguous\n"
        "assert not frozen.flags.writeable and frozen.tolist() == [0, 1, 2]\n"
        "assert names.tolist() == ['a', 'bb'] and records.dtype.names == ('x', 'y')\n"
        "assert things.tolist() == [1, 'x'] and empty.shape == (0, 3)",
    ),
    Row(
        "11–13 a tensor, a leaf with its gradient, a non-leaf",
        [
            "import torch",
            "tensor = torch.arange(6).reshape(2, 3)\nhalf = torch.ones(3, dtype=torch.bfloat16)\n"
            "leaf = torch.ones(3, requires_grad=True)\n(leaf * 2).sum().backward()\nproduct = leaf * 3",
        ],
        "assert tensor.tolist() == [[0, 1, 2], [3, 4, 5]] and half.dtype is torch.bfloat16\n"
        "assert leaf.is_leaf and leaf.requires_grad and leaf.grad.tolist() == [2, 2, 2]\n"
        "assert product.tolist() == [3, 3, 3] and product.grad_fn is None and not product.requires_grad",
        noted={"product": "grad_fn"},
    ),
    Row(
        "14–17 a network of a cell's class after a step, its optimizer and scheduler, its compiled form",
        [
            "class Net(torch.nn.Module):\n"
            "    def __init__(self, width=4):\n"
            "        super().__init__()\n"
            "        self.layer = torch.nn.Linear(width, width)\n"
            "        self.norm = torch.nn.BatchNorm1d(width)\n"
            "    def forward(self, x):\n"
            "        return self.norm(torch.relu(self.layer(x)))",
            "torch.manual_seed(1)\nnet = Net()\noptimizer = torch.optim.AdamW(net.parameters(), lr=0.1)\n"
            "scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)\n"
            "net(torch.randn(8, 4)).sum().backward()\noptimizer.step()\nscheduler.step()\n"
            "weight_before = net.layer.weight.tolist()\ncompiled = torch.compile(net)",
        ],
        "assert type(net) is Net and net.layer.weight.tolist() == weight_before\n"
        "linked = {id(p) for g in optimizer.param_groups for p in g['params']}\n"
        "assert linked == {id(p) for p in net.parameters()}, 'optimizer holds the parameters of net'\n"
        "assert set(optimizer.state) == set(net.parameters()) and scheduler.optimizer is optimizer\n"
        "assert optimizer.param_groups[0]['lr'] == 0.05 and net.layer.weight.grad is not None\n"
        "optimizer.zero_grad(); net(torch.ones(2, 4)).sum().backward(); optimizer.step(); scheduler.step()\n"
        "assert net.layer.weight.tolist() != weight_before and optimizer.param_groups[0]['lr'] == 0.025\n"
        "assert isinstance(compiled, torch.nn.Module) and compiled._orig_mod is net",
    ),
    Row(
        "18–21 a dataset of a cell's class, its loader, a generator, the loader's iterator",
        [
            "class Squares(torch.utils.data.Dataset):\n"
            "    def __len__(self):\n        return 8\n"
            "    def __getitem__(self, i):\n        return i * i",
            "squares = Squares()\ndice = torch.Generator().manual_seed(7)\n"
            "loader = torch.utils.data.DataLoader(squares, batch_size=2, shuffle=True, generator=dice)\n"
            "walk = iter(loader)\nbatch = next(walk)\ndice_state = dice.get_state().tolist()",
        ],
        "assert loader.dataset is squares and loader.generator is dice\n"
        "assert dice.get_state().tolist() == dice_state\n"
        "assert sorted(int(x) for b in loader for x in b) == [i * i for i in range(8)]",
        named={"walk": "loader_iterator"},
    ),
    Row(
        "22–23 a fitted model, a pattern",
        [
            "import re\nfrom sklearn.linear_model import LogisticRegression\n"
            "fitted = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])\npattern = re.compile(r'a+')",
        ],
        "assert fitted.predict([[2.5]]).tolist() == [1] and pattern.match('aaa').end() == 3",
    ),
    Row(
        "24–28 functions: with a global, calling another, a closure, cached, partial",
        [
            "import functools\nfactor = 3\nscale = lambda x: x * factor",
            "def helper(x):\n    return x + 1\ndef caller(x):\n    return helper(x) * 2",
            "def counter():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n        return n\n"
            "    def now():\n        return n\n    return up, now\nup, now = counter()\nup()",
            "@functools.lru_cache(maxsize=None)\ndef fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(9)",
            "plus = functools.partial(caller, 4)\ntable_of_functions = {'caller': caller}",
            "def labelled(x, *, seen=[]):\n    'keeps what it saw'\n    seen.append(x)\n    return seen\n"
            "labelled.mark = 'm'\nlabelled(1)",
        ],
        "assert scale(2) == 6\nfactor = 10\nassert scale(2) == 20\n"
        "assert caller(1) == 4\ndef helper(x):\n    return x + 100\nassert caller(1) == 202 and plus() == 208\n"
        "assert table_of_functions['caller'] is caller and plus.func is caller\n"
        "assert up() == 2 and now() == 2\n"
        "assert fib(20) == 6765 and fib.cache_info().maxsize is None\n"
        "assert labelled(2) == [1, 2] and labelled.mark == 'm' and labelled.__doc__ == 'keeps what it saw'",
        noted={"fib": "cache_empty"},
    ),
    Row(
        "29–34 classes of cells, a dataclass, an enum and its member, a named tuple",
        [
            "class Point:\n    made = []\n    __slots__ = ('x',)\n    def __init__(self, x):\n        self.x = x\n"
            "    def __eq__(self, other):\n        return self.x == other.x\n    __hash__ = None\npoint = Point(3)",
            "from dataclasses import dataclass, field\nfrom enum import Enum\nfrom collections import namedtuple\n"
            "from typing import NamedTuple",
            "@dataclass\nclass Item:\n    name: str\n    tags: list = field(default_factory=list)\nitem = Item('a')",
            "class Colour(Enum):\n    RED = 1\n    BLUE = 2\n    def shout(self):\n        return self.name + '!'\n"
            "red = Colour.RED\ncolours = {Colour.BLUE: 1}",
            "Pair = namedtuple('Pair', 'a b')\npair = Pair(1, 2)\nclass Triple(NamedTuple):\n    a: int\n    b: int = 5\n"
            "triple = Triple(1)",
            "class Child(Item):\n    def __init__(self, name):\n        super().__init__(name)\n        self.child = True\n"
            "child = Child('c')",
        ],
        "assert point == Point(3) and type(point) is Point and not hasattr(point, '__dict__')\n"
        "assert item == Item('a') and type(item) is Item and Item('q').tags == []\n"
        "assert red is Colour.RED and Colour(1) is red and red.shout() == 'RED!' and colours[Colour.BLUE] == 1\n"
        "assert type(pair) is Pair and pair == Pair(1, 2) and type(triple) is Triple and triple.b == 5\n"
        "assert isinstance(child, Item) and Child('z').child and child.name == 'c'",
    ),
    Row(
        "35–38 a generator in mid-run, a map object, a list iterator, a counter",
        [
            "import itertools\ngen = (i for i in range(5))\nnext(gen)\nmapped = map(abs, [-1, -2])\nnext(mapped)\n"
            "steps = iter([1, 2, 3])\nnext(steps)\nticket = itertools.count(5)\nnext(ticket)",
        ],
        "assert next(mapped) == 2 and next(steps) == 2 and next(ticket) == 6",
        named={"gen": "generator"},
    ),
    Row(
        "39–41 a file open for reading, one for writing, one in memory",
        [
            "import io, os, tempfile\nfolder = tempfile.mkdtemp()\n"
            "open(folder + '/in.txt', 'w').write('first\\nsecond\\nthird\\n') and None",
            "reading = open(folder + '/in.txt')\nreading.readline()\nraw = open(folder + '/in.txt', 'rb')\nraw.read(3)\n"
            "writing = open(folder + '/out.txt', 'w')\nwriting.write('kept')\n"
            "in_memory = io.BytesIO(b'abc')\nin_memory.read(1)",
        ],
        "assert reading.readline() == 'second\\n' and raw.read(2) == b'st' and in_memory.read() == b'bc'\n"
        "assert open(folder + '/out.txt').read() == 'kept'",
        named={"writing": "file_writing"},
    ),
    Row(
        "42–48 lock, thread, socket, database, child process, weak reference, map",
        [
            "import threading, socket, sqlite3, subprocess, weakref, mmap",
            "lock = threading.Lock()\nthread = threading.Thread(target=print)\nsock = socket.socket()\n"
            "conn = sqlite3.connect(':memory:')\nproc = subprocess.Popen(['true'])\nproc.wait()\n"
            "weak = weakref.ref(lock)\nmapped_memory = mmap.mmap(-1, 10)\nholder = {'inside': [conn]}",
        ],
        named={
            "lock": "lock",
            "thread": "thread",
            "sock": "socket",
            "conn": "connection",
            "proc": "process",
            "weak": "weakref",
            "mapped_memory": "mmap",
            "holder": "connection",
        },
    ),
    Row(
        "49–50 a figure and its axes",
        [
            "import matplotlib\nmatplotlib.use('agg')\nimport matplotlib.pyplot as plt\n"
            "fig, ax = plt.subplots()\nax.plot([1, 2], [3, 4])\nax.set_title('t')\nplt.close(fig)",
        ],
        "assert ax.figure is fig and fig.axes[0] is ax and ax.get_title() == 't'\n"
        "assert ax.lines[0].get_ydata().tolist() == [3, 4]\nfig.savefig(io.BytesIO())",
    ),
    Row(
        "51–54 a logger, random number generators, the global random states",
        [
            "import logging, random\nlog = logging.getLogger('tests')\nlog.setLevel(logging.DEBUG)",
            "dice2 = random.Random(4)\ndice2.random()\nrng = np.random.default_rng(5)\nrng.random()",
            "random.seed(1); np.random.seed(2); torch.manual_seed(3)\nrandom.random(); np.random.rand(); torch.rand(1)",
            "import copy\nexpected_rng = copy.deepcopy(rng).random()\nexpected_dice = copy.deepcopy(dice2).random()\n"
            "_states = random.getstate(), np.random.get_state(), torch.get_rng_state()\n"
            "expected = [random.random(), float(np.random.rand()), float(np.random.randn()), torch.rand(1).item()]\n"
            "random.setstate(_states[0]); np.random.set_state(_states[1]); torch.set_rng_state(_states[2])",
        ],
        "assert log is logging.getLogger('tests') and log.level == logging.DEBUG\n"
        "assert dice2.random() == expected_dice and rng.random() == expected_rng",
    ),
    Row(
        "55–60 memoryview, ctypes, Path, exception, module alias, null context",
        [
            "import ctypes, pathlib, contextlib\nbuffer = bytearray(b'abcd')\nview = memoryview(buffer)\n"
            "c_number = ctypes.c_int(5)\nplace = pathlib.Path('/tmp/x')\nnothing = contextlib.nullcontext(3)",
            "try:\n    1 / 0\nexcept ZeroDivisionError as caught:\n    error = caught",
        ],
        "buffer[0] = 122; assert bytes(view) == b'zbcd' and not view.readonly\n"
        "assert c_number.value == 5 and place.name == 'x' and isinstance(error, ZeroDivisionError)\n"
        "assert str(error) == 'division by zero' and np is __import__('numpy')\n"
        "with nothing as three:\n    assert three == 3",
    ),
    Row(
        "61–64 a coroutine, an async function, a widget, a disabled progress bar",
        [
            "async def later():\n    return 5\npending = later()\nimport ipywidgets, tqdm",
            "slider = ipywidgets.IntSlider(3)\nbox = [slider]\nbar = tqdm.tqdm(range(3), disable=True)",
        ],
        "assert await later() == 5 and list(bar) == [0, 1, 2]",
        named={"pending": "coroutine", "slider": "widget", "box": "widget"},
    ),
    Row(
        "65–71 aliases, import path, folder, environment, %run, history, backend",
        [
            "import os.path as osp, torch.nn.functional as F, xml.dom.minidom\nimport sys\nsys.path.insert(0, folder)",
            "open(folder + '/own_module.py', 'w').write('VALUE = 17\\ndef thrice(x):\\n    return 3 * x\\n') and None",
            "import own_module\nfrom own_module import thrice",
            "open(folder + '/script.py', 'w').write('base = 5\\ndef add(x):\\n    return x + base\\n"
            "def twice(x):\\n    return add(add(x))\\n') and None",
            "%run {folder}/script.py",
            "os.chdir(folder)\nos.environ['GS_TEST_SET'] = 'in a cell'\nos.environ.pop('GS_TEST_DROP', None) and None",
            "6 * 7",
        ],
        "assert osp is os.path and F is torch.nn.functional and xml.dom.minidom.parseString('<a/>')\n"
        "assert own_module.VALUE == 17 and thrice is own_module.thrice and folder in sys.path\n"
        "assert twice(1) == 11 and add(1) == 6\nbase = 100\nassert add(1) == 6, 'it lives in the script, as before'\n"
        "assert os.getcwd() == os.path.realpath(folder) and os.environ['GS_TEST_SET'] == 'in a cell'\n"
        "assert 'GS_TEST_DROP' not in os.environ\n"
        "assert '6 * 7' in In and 42 in Out.values() and matplotlib.get_backend().lower() == 'agg'",
    ),
    Row(
        "more: a table of arrow, a loader with its position, a tensor of one gigabyte",
        [
            "import pyarrow, torchdata.stateful_dataloader\n"
            "arrow = pyarrow.table({'n': [1, 2, 3], 't': ['a', None, 'c']})\nslice_of_arrow = arrow.slice(1)",
            "stream = torchdata.stateful_dataloader.StatefulDataLoader(list(range(20)), batch_size=2, shuffle=True)\n"
            "fresh_stream = torchdata.stateful_dataloader.StatefulDataLoader([1, 2, 3])",
            "torch.manual_seed(5)\nbatches = iter(stream)\nseen = [next(batches).tolist() for _ in range(4)]",
            "import copy\n_stream = copy.copy(stream)\n_stream.load_state_dict(stream.state_dict())\n"
            "to_come = [b.tolist() for b in _stream]\ndel _stream",
            "huge = torch.zeros(1 << 28)\nhuge[-1] = 7\nend_of_huge = huge[-3:]",
        ],
        "assert arrow.equals(pyarrow.table({'n': [1, 2, 3], 't': ['a', None, 'c']}))\n"
        "assert slice_of_arrow['t'].to_pylist() == [None, 'c']\n"
        "assert [b.tolist() for b in stream] == to_come and len(to_come) == 6\n"
        "assert sorted(x for b in seen + to_come for x in b) == list(range(20))\n"
        "assert [int(b) for b in fresh_stream] == [1, 2, 3]\n"
        "assert huge.shape == (1 << 28,) and end_of_huge.tolist() == [0, 0, 7]\n"
        "huge[-2] = 5; assert end_of_huge[1] == 5",
        named={"batches": "loader_iterator"},
        noted={"stream": "loader_resumes"},
    ),
    Row(
        "more: shared storage, tensor and array on one memory, names, odd objects",
        [
            "whole = torch.zeros(4, 4)\nrow = whole[1]\nonly_row = torch.arange(100.)[10:20]",
            "array = np.zeros(6)\nsame_memory = torch.from_numpy(array)\nslice_first = torch.from_numpy(array[2:4])\n"
            "under_tensor = whole.numpy()",
            "größe = 1\n变量 = [größe]",
            "class Refuses:\n    def __reduce__(self):\n        raise KeyError('not today')\nrefuses = Refuses()",
            "together = [1]\nclass Breaks:\n    def __init__(self, other):\n        self.other = other\n"
            "    def __setstate__(self, state):\n        raise ValueError('broken on load')\n"
            "breaks = Breaks(together)\nkeeps = {'link': together}",
            "class Lies:\n    def __init__(self):\n        self.value = 1\n"
            "    def __getstate__(self):\n        return {'value': 2}\nlies = Lies()",
            "class Guarded:\n    guard = threading.Lock()\nguarded = Guarded()",
            "bound = point.__eq__\nsparse = torch.eye(3).to_sparse()\nconjugate = torch.ones(2, dtype=torch.cfloat).conj()",
            "scaler = torch.amp.GradScaler('cpu', enabled=False)\nsequential = torch.nn.Sequential(torch.nn.Linear(2, 2))\n"
            "tied = torch.nn.Linear(2, 2)\ntied.weight = sequential[0].weight\nstdout = sys.stdout\nip = get_ipython()",
            "one_array = np.arange(3.)\nby_key = {'a': one_array, 'again': one_array}\nnobody = None\nme = globals()",
        ],
        "whole[1, 2] = 8; assert row[2] == 8 and under_tensor[1, 2] == 8 and only_row.tolist() == list(range(10, 20))\n"
        "array[2] = 5; assert same_memory[2] == 5 and slice_first[0] == 5\n"
        "assert größe == 1 and 变量 == [1]\nassert keeps['link'] is together\n"
        "assert bound(point) and sparse.to_dense().tolist() == torch.eye(3).tolist()\n"
        "assert conjugate.tolist() == [1, 1] and tied.weight is sequential[0].weight\n"
        "assert stdout is sys.stdout and ip is get_ipython() and me is globals()\n"
        "assert by_key['a'] is one_array and by_key['again'] is one_array",
        named={
            "refuses": "refuses",
            "breaks": "load_raises",
            "lies": "changed",
            "Guarded": "lock",
            "guarded": "depends",
        },
    ),
]
