/** The two kinds of output that magics give: a job, and a plan that waits for a press. They live without a kernel. */

import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import type { Plan } from '../api/answers.js';
import { Root } from '../components/context.js';
import { JobWidget } from '../components/job/JobWidget.js';
import { PlanCard } from '../components/PlanCard.js';
import { IGearshift } from '../tokens.js';

export const JOB = 'application/vnd.gearshift.job+json';
export const PLAN = 'application/vnd.gearshift.plan+json';
const RANK = 10; // before HTML and text, which are for places without us

export const outputsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'jupyterlab-gearshift:outputs',
  description: 'Draws jobs and plans in outputs.',
  autoStart: true,
  requires: [IGearshift, IRenderMimeRegistry],
  activate: (_app, gearshift: IGearshift, registry: IRenderMimeRegistry) => {
    if (!gearshift.active) {
      return;
    }
    for (const mimeType of [JOB, PLAN]) {
      registry.addFactory(
        { safe: true, mimeTypes: [mimeType], defaultRank: RANK, createRenderer: () => new Output(gearshift) },
        RANK
      );
    }
  }
};

class Output extends ReactWidget implements IRenderMime.IRenderer {
  constructor(private readonly _gearshift: IGearshift) {
    super();
    this.addClass('gs-output');
  }

  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this._model = model;
    this.update();
    return this.renderPromise ?? Promise.resolve();
  }

  render(): React.ReactElement | null {
    const model = this._model;
    if (!model) {
      return null;
    }
    const job = idOf(model.data[JOB]);
    const plan = planOf(model.data[PLAN]);
    const child = job ? <JobWidget id={job} /> : plan ? <PlanCard plan={plan} done={answer => this._became(answer)} /> : null;
    return child && <Root gearshift={this._gearshift}>{child}</Root>;
  }

  /** The plan was confirmed: from now on this output is the job that came of it, in the saved notebook too. */
  private _became(answer: unknown): void {
    const id = idOf(answer);
    if (id && this._model) {
      const data = Object.entries(this._model.data).filter(([mime]) => mime !== PLAN);
      this._model.setData({ data: { ...Object.fromEntries(data), [JOB]: { job: id } } });
      this.update();
    }
  }

  private _model: IRenderMime.IMimeModel | null = null;
}

function idOf(data: unknown): string | null {
  const { job, id, spec } = (data ?? {}) as { job?: unknown; id?: unknown; spec?: unknown };
  const found = job ?? (spec ? id : undefined);
  return typeof found === 'string' ? found : null;
}

function planOf(data: unknown): Plan | null {
  const outer = (data ?? {}) as { plan?: unknown };
  const plan = (outer.plan ?? data) as Partial<Plan> | undefined;
  return plan && typeof plan.id === 'string' && plan.figures ? (plan as Plan) : null;
}
