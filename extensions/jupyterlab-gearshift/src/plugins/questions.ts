/** `input()` of a cell that the server runs: a box under the cell, in every page that shows it, however late it came. */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import type { Cell } from '@jupyterlab/cells';
import { INotebookTracker, type NotebookPanel } from '@jupyterlab/notebook';
import { type PanelLayout, Widget } from '@lumino/widgets';

import { IGearshift } from '../tokens.js';

const KEY = 'gearshift_input';

interface Question {
  id: string;
  prompt: string;
  password: boolean;
}

export const questionsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:questions',
  description: 'Asks what a cell wants to know.',
  autoStart: true,
  requires: [IGearshift],
  optional: [INotebookTracker],
  activate: (_app, gearshift: IGearshift, notebooks: INotebookTracker | null) => {
    notebooks?.widgetAdded.connect((_, panel) => {
      const boxes = new Map<Cell, QuestionBox>();
      const look = (): void => show(panel, boxes, gearshift);
      void panel.context.ready.then(() => {
        panel.content.modelContentChanged.connect(look);
        look();
      });
    });
  }
};

function show(panel: NotebookPanel, boxes: Map<Cell, QuestionBox>, gearshift: IGearshift): void {
  for (const [cell, box] of boxes) {
    if (cell.isDisposed || questionOf(cell)?.id !== box.question.id) {
      boxes.delete(cell);
      box.dispose();
    }
  }
  for (const cell of panel.content.widgets) {
    const question = questionOf(cell);
    if (question && !boxes.has(cell)) {
      const answer = (value: string): Promise<unknown> => {
        const kernel = panel.sessionContext.session?.kernel?.id ?? '';
        return gearshift.client.answer(kernel, question.id, value);
      };
      const box = new QuestionBox(question, gearshift, answer);
      boxes.set(cell, box);
      (cell.layout as PanelLayout).addWidget(box);
      if (panel.content.activeCell === cell || panel.content.widgets.indexOf(cell) === panel.content.activeCellIndex - 1) {
        box.input.focus();
      }
    }
  }
}

function questionOf(cell: Cell): Question | null {
  const found = cell.isDisposed ? undefined : (cell.model.sharedModel.getMetadata(KEY) as unknown);
  return found && typeof (found as Question).id === 'string' ? (found as Question) : null;
}

class QuestionBox extends Widget {
  constructor(
    readonly question: Question,
    gearshift: IGearshift,
    answer: (value: string) => Promise<unknown>
  ) {
    super();
    const { words } = gearshift;
    this.addClass('gs-question');
    this.node.setAttribute('role', 'group');
    this.node.setAttribute('aria-label', words.t('The cell waits for your answer'));
    this.node.dataset.lmSuppressShortcuts = 'true';
    // A key that reaches the notebook takes the focus to a cell.
    this.node.addEventListener('keydown', event => event.stopPropagation());
    const label = document.createElement('label');
    label.textContent = question.prompt || words.t('Answer');
    label.htmlFor = this.input.id = `gs-question-${question.id}`;
    this.input.type = question.password ? 'password' : 'text';
    this.input.autocomplete = 'off';
    this.input.className = 'jp-mod-styled';
    const send = document.createElement('button');
    send.type = 'submit';
    send.className = 'jp-mod-styled';
    send.textContent = words.t('Send');
    const problem = document.createElement('span');
    problem.setAttribute('role', 'alert');
    const form = document.createElement('form');
    form.append(label, this.input, send, problem);
    form.addEventListener('submit', event => {
      event.preventDefault();
      send.disabled = true;
      answer(this.input.value).catch((reason: unknown) => {
        send.disabled = false;
        problem.textContent = reason instanceof Error ? reason.message : String(reason);
      });
    });
    this.node.append(form);
  }

  readonly input = document.createElement('input');
}
