/** `gemmlab lab` behind the page, where there is one: a plain file server and a file from disk have none. */

export interface Backend {
  readonly name: string;
  readonly kernels: readonly string[];
  /** That it runs on; empty where it does not, and then why. */
  readonly chip: string;
  readonly why: string;
  readonly software: boolean;
}

export interface Caps {
  readonly version: string;
  /** Whether this page may have code run. */
  readonly token: boolean;
  readonly machine: { readonly backends: readonly Backend[] } | null;
}

/** What the server refused or could not do, in its words. */
export class ServerError extends Error {
  constructor(
    text: string,
    readonly hint = '',
  ) {
    super(text);
  }
}

/** Whether the page may come from the server: it alone isolates the page, and it is on this machine alone. */
function likely(): boolean {
  return (
    globalThis.crossOriginIsolated === true &&
    ['127.0.0.1', 'localhost', '[::1]'].includes(globalThis.location?.hostname)
  );
}

/** Tries in a row to hear of a job again that lead nowhere, before the server is taken for gone. */
const SILENT = 2;

let asked: Promise<Caps | null> | null = null;

/** What the server can do, asked once; null where there is none. */
export function caps(): Promise<Caps | null> {
  asked ??= likely()
    ? fetch('api/caps').then(
        async (answer) => (answer.ok ? ((await answer.json()) as Caps) : null),
        () => null,
      )
    : Promise.resolve(null);
  return asked;
}

/** The answer of a verb; throws ServerError. */
export async function ask<T>(verb: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return (await send('POST', `api/${verb}`, body, signal)) as T;
}

export interface Watch {
  readonly signal: AbortSignal;
  readonly told: (text: string) => void;
}

/** The same for what takes long: told on the way, and cancelled with the signal. */
export async function job<T>(verb: string, body: unknown, { signal, told }: Watch): Promise<T> {
  // without the signal: a job that has begun is cancelled by its name, which only the answer tells
  const { id, events } = (await send('POST', `api/jobs/${verb}`, body)) as { id: string; events: string };
  const cancel = () => void send('DELETE', `api/jobs/${id}`).catch(() => undefined);
  if (signal.aborted) {
    cancel();
    throw signal.reason;
  }
  const stream = new EventSource(events);
  let silent = 0;
  try {
    return await new Promise<T>((resolve, reject) => {
      const data = (event: Event) => JSON.parse((event as MessageEvent<string>).data) as unknown;
      const failed = (event: Event) => reject(failure(data(event)));
      stream.addEventListener('progress', (event) => told(textOf(data(event))));
      stream.addEventListener('result', (event) => resolve(data(event) as T));
      stream.addEventListener('failed', failed);
      stream.addEventListener('cancelled', failed);
      stream.addEventListener('open', () => (silent = 0));
      stream.addEventListener('error', () => {
        silent += 1; // a browser tries again for ever
        if (stream.readyState === EventSource.CLOSED || silent >= SILENT) reject(new ServerError('the server is gone'));
      });
      signal.addEventListener('abort', () => {
        cancel();
        reject(signal.reason as Error);
      });
    });
  } finally {
    stream.close();
  }
}

async function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<unknown> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw new ServerError(`the server does not answer: ${error instanceof Error ? error.message : String(error)}`);
  }
  const found: unknown = await answer.json().catch(() => null);
  if (signal?.aborted) throw signal.reason;
  if (!answer.ok) throw failure(found, answer.status);
  if (found === null) throw new ServerError('the server broke off its answer');
  return found;
}

function failure(told: unknown, status = 0): ServerError {
  const { error, hint } = (told ?? {}) as { error?: string; hint?: string };
  return new ServerError(error ?? `the server answered ${status}`, hint);
}

function textOf(told: unknown): string {
  if (typeof told === 'string') return told;
  const found = (told ?? {}) as Record<string, unknown>;
  return String(found['text'] ?? found['told'] ?? '');
}
