/** The one error of the front end: what the server refused, with its code, sentence in both languages and figures. */

export interface ErrorBody {
  code: string;
  message: string;
  message_zh?: string | null;
  field?: string | null;
  value?: unknown;
  allowed?: unknown;
  facts?: Record<string, unknown>;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly body: ErrorBody
  ) {
    super(body.message);
    this.name = 'ApiError';
  }

  get code(): string {
    return this.body.code;
  }

  get facts(): Record<string, unknown> {
    return this.body.facts ?? {};
  }

  /** The sentence for people, in their language. */
  sentence(language: 'en' | 'zh'): string {
    return (language === 'zh' && this.body.message_zh) || this.body.message;
  }
}

/** Read `{"error": {...}}`; anything else becomes `control_unavailable` or `internal`, by its status. */
export function errorFrom(status: number, body: unknown): ApiError {
  const error = (body as { error?: ErrorBody } | null)?.error;
  if (error && typeof error.code === 'string' && typeof error.message === 'string') {
    return new ApiError(status, error);
  }
  return status === 0 || status === 424 || status >= 502 ? unreachable(status) : unexpected(status);
}

export function unreachable(status = 0): ApiError {
  return new ApiError(status, {
    code: 'control_unavailable',
    message: 'Gearshift cannot be reached now. Your kernel and jobs keep running.',
    message_zh: '现在无法连接 Gearshift。内核与任务仍在运行。'
  });
}

function unexpected(status: number): ApiError {
  return new ApiError(status, {
    code: status === 403 || status === 401 ? 'unauthenticated' : 'internal',
    message: status === 403 || status === 401 ? 'Sign in again to go on.' : `Gearshift answered with status ${status}.`,
    message_zh: status === 403 || status === 401 ? '请重新登录后继续。' : `Gearshift 返回了状态 ${status}。`
  });
}

export function asApiError(reason: unknown): ApiError {
  return reason instanceof ApiError ? reason : unreachable();
}
