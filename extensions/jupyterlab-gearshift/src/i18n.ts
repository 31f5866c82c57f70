/** Words: what `translator.load('gearshift')` gives, with named placeholders; and which language that is. */

import type { ITranslator } from '@jupyterlab/translation';

import type { Language } from './models/format.js';

export type Values = Readonly<Record<string, string | number>>;

export class Words {
  constructor(translator: ITranslator) {
    this._bundle = translator.load('gearshift');
    this.language = translator.languageCode.toLowerCase().startsWith('zh') ? 'zh' : 'en';
  }

  readonly language: Language;

  /** The language as HTML writes it. */
  get lang(): string {
    return this.language === 'zh' ? 'zh-CN' : 'en';
  }

  /** One sentence. `{name}` is filled from `values`; a translated string is always text, never HTML. */
  readonly t = (text: string, values?: Values): string => fill(this._bundle.__(text), values);

  /** A sentence with a count in it. */
  readonly n = (one: string, many: string, n: number, values?: Values): string =>
    fill(this._bundle._n(one, many, n), { n, ...values });

  /** A text that the server keeps in both languages. */
  readonly pick = (text: { en: string; zh: string } | string | null | undefined): string =>
    text === null || text === undefined ? '' : typeof text === 'string' ? text : text[this.language];

  private readonly _bundle: ReturnType<ITranslator['load']>;
}

function fill(text: string, values?: Values): string {
  return values ? text.replace(/\{(\w+)\}/g, (all, name: string) => String(values[name] ?? all)) : text;
}
