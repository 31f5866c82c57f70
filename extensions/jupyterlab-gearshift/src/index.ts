import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Words } from './i18n.js';
const p: JupyterFrontEndPlugin<void> = { id: 'jupyterlab-gearshift:plugin', autoStart: true, activate: () => { console.error(Words); } };
export default [p];
