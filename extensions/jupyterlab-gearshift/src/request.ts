/** The one request function: to our own server's `gearshift/` routes, with its XSRF token, a typed error out. */

import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

import { asApiError, errorFrom } from './api/errors.js';

export interface RequestOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  body?: unknown;
  /** A press in our dialog: the server extension passes it on only for a signed-in page. */
  press?: boolean;
}

export type Request = <T>(path: string, options?: RequestOptions) => Promise<T>;

export function requester(settings: ServerConnection.ISettings): Request {
  return <T>(path: string, options: RequestOptions = {}) => request<T>(settings, path, options);
}

async function request<T>(
  settings: ServerConnection.ISettings,
  path: string,
  { method = 'GET', body, press = false }: RequestOptions
): Promise<T> {
  const url = URLExt.join(settings.baseUrl, 'gearshift', path);
  const init: RequestInit = { method, cache: 'no-cache', headers: press ? { 'X-Gearshift-Press': '1' } : {} };
  if (method !== 'GET') {
    init.headers = { ...init.headers, 'Content-Type': 'application/json' };
    init.body = JSON.stringify(body ?? {});
  }
  let response: Response;
  try {
    response = await ServerConnection.makeRequest(url, init, settings);
  } catch (reason) {
    throw asApiError(reason);
  }
  const data: unknown = await response.json().catch(() => null);
  if (!response.ok) {
    throw errorFrom(response.status, data);
  }
  return data as T;
}
