/** Requests during a switch: made again when there is a server, unless they could do their work twice. */

import assert from 'node:assert/strict';
import test from 'node:test';

import { patientFetch } from '../models/fetching.js';
import { Gate } from '../models/gate.js';

const BASE = 'http://box/user/mei/vlm/api/';

/** A network that gives these answers in turn; 0 is none at all. */
function network(...statuses: number[]): { plain: typeof fetch; asked: Request[] } {
  const asked: Request[] = [];
  const plain = (request: Request): Promise<Response> => {
    asked.push(request);
    const status = statuses.shift() ?? 200;
    return status ? Promise.resolve(new Response('{}', { status })) : Promise.reject(new TypeError('no network'));
  };
  return { plain: plain as typeof fetch, asked };
}

function closed(): Gate {
  const gate = new Gate();
  gate.close();
  return gate;
}

for (const status of [424, 503, 502, 504, 0]) {
  test(`a question that is answered ${status} during a switch is asked again after it`, async () => {
    const { plain, asked } = network(status, 200);
    const gate = closed();
    const answer = patientFetch(plain, BASE, gate)(`${BASE}contents/a.ipynb`);
    await new Promise(resolve => setTimeout(resolve, 20));
    assert.equal(asked.length, 1);
    gate.open();
    assert.equal((await answer).status, 200);
    assert.equal(asked.length, 2);
  });
}

test('what is sent along is sent again', async () => {
  const { plain, asked } = network(424, 201);
  const gate = closed();
  const answer = patientFetch(plain, BASE, gate)(`${BASE}sessions`, { method: 'POST', body: '{"path":"a"}' });
  gate.open();
  await answer;
  assert.equal(await asked[1]?.text(), '{"path":"a"}');
});

test('what could be done twice is not asked twice', async () => {
  const { plain, asked } = network(502);
  const answer = await patientFetch(plain, BASE, closed())(`${BASE}sessions`, { method: 'POST', body: '{}' });
  assert.equal(answer.status, 502);
  assert.equal(asked.length, 1);
});

test('with no switch, and elsewhere, answers are what they are', async () => {
  const { plain, asked } = network(424, 503, 0);
  assert.equal((await patientFetch(plain, BASE, new Gate())(`${BASE}contents`)).status, 424);
  assert.equal((await patientFetch(plain, BASE, closed())('http://box/hub/api')).status, 503);
  await assert.rejects(patientFetch(plain, BASE, new Gate())(`${BASE}contents`), /no network/);
  assert.equal(asked.length, 3);
});
