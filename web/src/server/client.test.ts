import { afterEach, expect, test, vi } from 'vitest';
import { ask, job } from './client';

/** A stream of events that a test drives. */
class Stream extends EventTarget {
  static readonly CLOSED = 2;
  static last: Stream | null = null;
  readyState = 1;

  constructor(readonly address: string) {
    super();
    Stream.last = this;
  }

  close(): void {
    this.readyState = Stream.CLOSED;
  }

  say(name: string, data: unknown): void {
    this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }));
  }
}

const calls: string[] = [];
let answer: () => Promise<Response>;
const begun = () => Promise.resolve(Response.json({ id: 'x', events: '/api/jobs/x/events' }, { status: 202 }));
const soon = () => new Promise((resume) => setTimeout(resume, 0));

function started(signal = new AbortController().signal) {
  calls.length = 0;
  Stream.last = null;
  vi.stubGlobal('EventSource', Stream);
  vi.stubGlobal('fetch', (path: string, { method, signal: given }: RequestInit) => {
    calls.push(`${method} ${path}${given ? ' with a signal' : ''}`);
    return method === 'DELETE' ? begun() : answer();
  });
  const told: string[] = [];
  return { done: job<number>('run', {}, { signal, told: (text) => told.push(text) }), told };
}

afterEach(() => vi.unstubAllGlobals());

test('a job is told on its way, and its result comes', async () => {
  answer = begun;
  const { done, told } = started();
  await soon();
  Stream.last!.say('progress', { text: 'round 1 of 3' });
  Stream.last!.say('result', 7);
  expect(await done).toBe(7);
  expect(told).toEqual(['round 1 of 3']);
  expect(Stream.last!.readyState).toBe(Stream.CLOSED);
});

test('a server that is gone is told, though a browser would try for ever; one that comes back is heard', async () => {
  answer = begun;
  const { done } = started();
  await soon();
  const stream = Stream.last!;
  stream.readyState = 0;
  stream.dispatchEvent(new Event('error'));
  stream.dispatchEvent(new Event('open'));
  stream.dispatchEvent(new Event('error'));
  stream.dispatchEvent(new Event('error'));
  await expect(done).rejects.toThrow('the server is gone');
});

test('a job that is cancelled is cancelled there, at whichever moment that is', async () => {
  for (const before of [true, false]) {
    const stop = new AbortController();
    answer = begun;
    const { done } = started(stop.signal);
    if (!before) await soon();
    stop.abort(new Error('stopped'));
    await expect(done).rejects.toThrow('stopped');
    expect(calls).toEqual(['POST api/jobs/run', 'DELETE api/jobs/x']);
  }
});

test('an answer that breaks off, or is no JSON, is an error in words', async () => {
  answer = () => Promise.resolve(new Response('{"id": ', { status: 202 }));
  await expect(started().done).rejects.toThrow('broke off');
  answer = () => Promise.resolve(new Response('Service Unavailable', { status: 503 }));
  await expect(started().done).rejects.toThrow('the server answered 503');
  answer = () => Promise.resolve(Response.json({ error: 'no', hint: 'yes' }, { status: 400 }));
  await expect(ask('explain', {})).rejects.toMatchObject({ message: 'no', hint: 'yes' });
});
