"""What a person installs into an image: a small package of their own, and broken copies of two that a server needs."""

INSTALL = """
import os, pathlib, subprocess, sys, zipfile
with zipfile.ZipFile('demo_a-1.0-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('demo_a.py', 'VALUE = 17')
    info = 'demo_a-1.0.dist-info/'
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: demo-a\\nVersion: 1.0\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', 'demo_a.py,,\\n' + info + 'METADATA,,\\n' + info + 'WHEEL,,\\n' + info + 'RECORD,,\\n')
pip = [sys.executable, '-m', 'pip', '--disable-pip-version-check', 'install', '--no-index', '--no-deps']
done = subprocess.run([*pip, 'demo_a-1.0-py3-none-any.whl'], capture_output=True, text=True)
assert done.returncode == 0, done.stderr
site = 'lib/python{}.{}/site-packages'.format(*sys.version_info)
for root in (os.environ['GEARSHIFT_PACKAGES'], pathlib.Path.home() / '.local'):
    for name in ('tornado', 'zmq'):
        broken = pathlib.Path(root) / site / name
        broken.mkdir(parents=True)
        (broken / '__init__.py').write_text('raise RuntimeError("broken")')
"""
