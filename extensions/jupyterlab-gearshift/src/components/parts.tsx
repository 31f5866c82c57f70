/** The small parts that every view is made of. */

import { Clipboard } from '@jupyterlab/apputils';
import * as React from 'react';

import type { ApiError } from '../api/errors.js';
import { Icon, type IconName } from '../icons.js';
import { cut } from '../models/format.js';
import type { Loaded } from '../models/loaded.js';
import { useGearshift, useNow } from './context.js';

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'idle';

/** A state: an icon and a word, never a colour alone. */
export function StateWord(props: { tone: Tone; icon: IconName; pill?: boolean; children: React.ReactNode }): React.ReactElement {
  return (
    <span className={`gs-state gs-${props.tone} ${props.pill ? 'pill' : ''}`}>
      <Icon name={props.icon} size={14} />
      <span>{props.children}</span>
    </span>
  );
}

/** A name that a person gave: text, isolated from its surroundings, cut at 64 characters. */
export function Name({ children, className = '' }: { children: string; className?: string }): React.ReactElement {
  return (
    <bdi className={`gs-clip ${className}`} title={children}>
      {cut(children)}
    </bdi>
  );
}

type ButtonProps = Omit<React.ButtonHTMLAttributes<HTMLButtonElement>, 'disabled'> & {
  look?: 'primary' | 'danger' | 'plain' | 'quiet';
  size?: 'small' | 'large';
  icon?: IconName;
  grow?: boolean;
  /** Why it cannot be pressed: it stays focusable and says so. */
  closed?: string | null;
};

export const Button = React.forwardRef<HTMLButtonElement, ButtonProps>(function Button(
  { look, size, icon, grow, closed, onClick, children, className = '', title, ...rest },
  ref
) {
  const classes = ['gs-btn', look, size, grow && 'grow', className].filter(Boolean).join(' ');
  return (
    <button
      type="button"
      ref={ref}
      className={classes}
      aria-disabled={closed ? true : undefined}
      title={closed ?? title}
      onClick={closed ? undefined : onClick}
      {...rest}
    >
      {icon && <Icon name={icon} size={14} />}
      <span className="gs-clip">{children}</span>
    </button>
  );
});

export function IconButton(props: {
  icon: IconName;
  label: string;
  onClick?: (event: React.MouseEvent<HTMLButtonElement>) => void;
  closed?: string | null;
}): React.ReactElement {
  return (
    <button
      type="button"
      className="gs-icon"
      aria-label={props.label}
      title={props.closed ?? props.label}
      aria-disabled={props.closed ? true : undefined}
      onClick={props.closed ? undefined : props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}

export function Link(props: React.ButtonHTMLAttributes<HTMLButtonElement>): React.ReactElement {
  return <button type="button" {...props} className={`gs-link ${props.className ?? ''}`} />;
}

export function Note(props: {
  tone?: Tone;
  icon: IconName;
  more?: React.ReactNode;
  children: React.ReactNode;
  role?: 'alert' | 'status';
  action?: React.ReactNode;
}): React.ReactElement {
  return (
    <div className={`gs-note ${props.tone ? `gs-${props.tone}` : ''}`} role={props.role}>
      <Icon name={props.icon} />
      <div>
        <p>{props.children}</p>
        {props.more && <p>{props.more}</p>}
      </div>
      {props.action}
    </div>
  );
}

export function Bar(props: { percent: number; tone?: Tone; height?: 'thin' | 'tall' }): React.ReactElement {
  const width = `${Math.max(0, Math.min(100, props.percent))}%`;
  return (
    <div
      className={`gs-bar ${props.height ?? 'thin'} ${props.tone ? `gs-${props.tone}` : ''}`}
      style={{ '--v': width } as React.CSSProperties}
    >
      <i />
    </div>
  );
}

/** A meter with its figure. What is not known is a dash, never 0. */
export function Meter(props: {
  label: string;
  percent: number | null;
  text: string | null;
  why?: string | null;
  /** A word in place of the figure when little is left; the figure stays at hand. */
  warning?: string | null;
}): React.ReactElement {
  const { words } = useGearshift();
  const unknown = props.percent === null || props.text === null;
  const why = props.why ?? words.t('not reported by this chip');
  const { warning = null } = props;
  return (
    <div className="gs-meter" title={unknown ? why : warning ? (props.text ?? undefined) : undefined}>
      <span className="gs-muted">{props.label}</span>
      <span className="gs-num">{unknown ? '–' : (warning ?? props.text)}</span>
      <div
        role="meter"
        style={{ gridColumn: '1 / -1' }}
        aria-label={props.label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(props.percent ?? 0)}
        aria-valuetext={unknown ? why : [props.label, props.text, warning].filter(Boolean).join(' ')}
      >
        <Bar percent={props.percent ?? 0} tone={warning ? 'warn' : undefined} />
      </div>
    </div>
  );
}

/** One line that a press copies. */
export function CopyLine({ text }: { text: string }): React.ReactElement {
  const { words } = useGearshift();
  const [copied, setCopied] = React.useState(false);
  const copy = (): void => {
    Clipboard.copyToSystem(text);
    setCopied(true);
  };
  return (
    <div className="gs-code">
      <span title={text}>{text}</span>
      <IconButton icon={copied ? 'check' : 'copy'} label={copied ? words.t('Copied') : words.t('Copy')} onClick={copy} />
    </div>
  );
}

/** The first load in words: a grey bar after 0.3 s, a sentence after 2 s and another after 10 s. */
export function Waiting(props: { since: number; what: string; retry: () => void }): React.ReactElement | null {
  const { words } = useGearshift();
  const waited = useNow(250) - props.since;
  if (waited < 300) {
    return null;
  }
  if (waited < 2000) {
    return <div className="gs-bar" style={{ width: '60%' }} />;
  }
  if (waited < 10_000) {
    return <p className="gs-small gs-muted">{props.what}</p>;
  }
  return (
    <p className="gs-small gs-muted">
      {words.t('Still loading. Gearshift answers slowly.')} <Link onClick={props.retry}>{words.t('Try again')}</Link>
    </p>
  );
}

/** What one part could not do, and the way on; the other parts go on. */
export function Refused({ error, retry }: { error: ApiError; retry?: () => void }): React.ReactElement {
  const { words } = useGearshift();
  return (
    <Note tone="warn" icon="warn" action={retry && <Link onClick={retry}>{words.t('Try again')}</Link>}>
      {error.sentence(words.language)}
    </Note>
  );
}

/** A fetched part: its waiting, its error, or its content. An old value stays with a word about its age. */
export function Fetched<T>(props: {
  part: Loaded<T>;
  what: string;
  retry: () => void;
  children: (value: T) => React.ReactNode;
}): React.ReactElement {
  const { part } = props;
  return (
    <>
      {part.error && <Refused error={part.error} retry={props.retry} />}
      {part.value === null && !part.error && part.waitingSince !== null && (
        <Waiting since={part.waitingSince} what={props.what} retry={props.retry} />
      )}
      {part.value !== null && props.children(part.value)}
    </>
  );
}
