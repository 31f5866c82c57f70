/** A job of 10,000 steps on 64 ranks: at most four updates of its view a second, at most 600 points in it. */

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

import type { Client } from '../api/client.js';
import type { Job } from '../api/records.js';
import { JobFeed } from '../models/feed.js';

const STEPS = 10_000;
const PER_SECOND = 100;

function job(step: number, state = 'running'): Job {
  const ranks = Array.from({ length: 64 }, (_, rank) => ({ rank, node: rank >> 3, local_rank: rank & 7, state: 'running' }));
  return { id: 'job-1', state, ranks, spec: { name: 'long' }, metrics_last: { step, steps: STEPS }, queue: null } as unknown as Job;
}

/** A server that would hand out every step it knows, and counts what it is asked. */
class Server {
  step = 0;
  asked = { metrics: 0, logs: 0 };

  readonly client = {
    job: () => Promise.resolve(job(this.step)),
    jobMetrics: () => {
      this.asked.metrics += 1;
      return Promise.resolve(Array.from({ length: this.step + 1 }, (_, step) => ({ step, loss: 1 / (step + 1) })));
    },
    jobLog: (_id: string, rank: number, offset: number) => {
      this.asked.logs += 1;
      return Promise.resolve({ rank, offset, text: '' });
    }
  } as unknown as Client;
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) {
    await Promise.resolve();
  }
}

test('ten thousand steps on 64 ranks are at most four updates a second and 600 points', async () => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  try {
    const server = new Server();
    const feed = new JobFeed(server.client, 'job-1');
    const told: number[] = [];
    let most = 0;
    feed.changed.connect((_, view) => {
      told.push(Date.now());
      most = Math.max(most, view.points.length);
    });
    await feed.load();
    for (let step = 1; step <= STEPS; step += 1) {
      server.step = step;
      feed.apply({ id: step, kind: 'job.metrics', data: { job: 'job-1', metrics_last: { step } } } as never);
      feed.apply({ id: step, kind: 'job.state', data: { job: job(step) } } as never);
      feed.apply({ id: step, kind: 'job.log', data: { job: 'job-1' } } as never);
      mock.timers.tick(1000 / PER_SECOND);
      if (step % 10 === 0) {
        await settled();
      }
    }
    mock.timers.tick(2000);
    await settled();
    const seconds = STEPS / PER_SECOND;
    const gaps = told.slice(1).map((at, index) => at - (told[index] ?? 0));
    assert.ok(Math.min(...gaps) >= 250, `two updates ${Math.min(...gaps)} ms apart`);
    assert.ok(told.length <= 4 * (seconds + 2) + 1, `${told.length} updates in ${seconds} s`);
    assert.ok(told.length >= seconds, 'it goes on being drawn');
    assert.equal(most, 600);
    assert.ok(server.asked.metrics <= seconds + 3, `${server.asked.metrics} curves were asked for`);
    assert.ok(server.asked.logs <= 4 * seconds + 4, `${server.asked.logs} logs were asked for`);
    assert.equal((feed.view.job.value?.metrics_last as { step: number }).step, STEPS);
    feed.dispose();
  } finally {
    mock.timers.reset();
  }
});

test('a job that failed shows the log of the rank that failed first, and no other rank’s', async () => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  try {
    const logs = ['ours '.repeat(9), 'Traceback of rank 1'];
    const states = { now: job(1) };
    const client = {
      job: () => Promise.resolve(states.now),
      jobMetrics: () => Promise.resolve([]),
      jobLog: (_id: string, rank: number, offset: number) => {
        const whole = logs[rank] ?? '';
        const from = offset < 0 ? Math.max(0, whole.length + offset) : offset;
        return Promise.resolve({ rank, offset: whole.length, text: whole.slice(from) });
      }
    } as unknown as Client;
    const feed = new JobFeed(client, 'job-1');
    await feed.load();
    assert.equal(feed.view.log, logs[0]);
    states.now = { ...job(1, 'failed'), ended_at: 'now', first_failure: { rank: 1 } } as unknown as Job;
    feed.apply({ id: 1, kind: 'job.state', data: { job: states.now } } as never);
    mock.timers.tick(2500);
    await settled();
    assert.deepEqual([feed.view.rank, feed.view.log], [1, logs[1]]);
    await feed.choose(0);
    assert.equal(feed.view.log, logs[0]);
    feed.dispose();
  } finally {
    mock.timers.reset();
  }
});

test('lines that come while others are read are taken once each, in their order', async () => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  try {
    let whole = 'one ';
    const waiting: (() => void)[] = [];
    const client = {
      job: () => Promise.resolve(job(1)),
      jobMetrics: () => Promise.resolve([]),
      jobLog: async (_id: string, rank: number, offset: number) => {
        const from = offset < 0 ? Math.max(0, whole.length + offset) : offset;
        await new Promise<void>(resolve => waiting.push(resolve));
        return { rank, offset: whole.length, text: whole.slice(from) };
      }
    } as unknown as Client;
    const answerAll = async (): Promise<void> => {
      for (let turn = 0; turn < 6; turn += 1) {
        await settled();
        waiting.splice(0).forEach(answer => answer());
      }
      await settled();
    };
    const feed = new JobFeed(client, 'job-1');
    void feed.load();
    await settled();
    void feed.load();
    feed.apply({ id: 1, kind: 'job.log', data: { job: 'job-1' } } as never);
    mock.timers.tick(300);
    await answerAll();
    assert.equal(feed.view.log, 'one ');
    whole += 'two ';
    feed.apply({ id: 2, kind: 'job.log', data: { job: 'job-1' } } as never);
    mock.timers.tick(300);
    await answerAll();
    assert.equal(feed.view.log, 'one two ');
    feed.dispose();
  } finally {
    mock.timers.reset();
  }
});
