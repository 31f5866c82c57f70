/** Our dialog: JupyterLab's, with a body that draws its own title and buttons, a focus trap, and a way back to the opener. */

import { Dialog } from '@jupyterlab/apputils';
import { ReactWidget } from '@jupyterlab/ui-components';
import { Widget } from '@lumino/widgets';
import * as React from 'react';

import type { IGearshift } from '../tokens.js';
import { Root, useGearshift } from './context.js';
import { Button, IconButton } from './parts.js';

/** A confirming press is inert for so long after it came on screen. */
export const INERT_MS = 500;

const FOCUSABLE =
  'button:not(:disabled), a[href], input:not(:disabled), select:not(:disabled), [tabindex]:not([tabindex="-1"])';

class Void extends Dialog.Renderer {
  override createHeader(): Widget {
    return hidden();
  }
  override createFooter(): Widget {
    return hidden();
  }
}

function hidden(): Widget {
  const widget = new Widget();
  widget.addClass('gs-void');
  return widget;
}

class GearshiftDialog extends Dialog<void> {
  constructor(
    body: ReactWidget,
    title: string,
    width: number,
    private readonly _close: () => void
  ) {
    super({ title, body, buttons: [], hasClose: true, renderer: new Void() });
    this.addClass('gs-dialog');
    this.node.style.setProperty('--gs-width', `${width}px`);
    this.node.setAttribute('aria-labelledby', 'gs-dialog-title');
    this._opener = document.activeElement as HTMLElement | null;
  }

  override handleEvent(event: Event): void {
    if (event.type === 'keydown') {
      this._key(event as KeyboardEvent);
    } else if (event.type === 'focus') {
      this._keepFocus(event);
    } else if (event.type === 'contextmenu') {
      event.stopPropagation();
    } else if (event.type === 'mousedown') {
      super.handleEvent(event);
    } else if (event.type === 'click' && !this._content.contains(event.target as Node)) {
      event.stopPropagation();
      event.preventDefault();
    }
  }

  override dispose(): void {
    const opener = this._opener;
    super.dispose();
    // JupyterLab gives focus back to what had it; that may have been drawn anew meanwhile.
    requestAnimationFrame(() => {
      if (opener && !opener.isConnected) {
        document.querySelector<HTMLElement>('.gs-panel .gs-btn, .gs-chip')?.focus();
      }
    });
  }

  private _key(event: KeyboardEvent): void {
    if (event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      this._close();
    } else if (event.key === 'Tab') {
      this._trap(event);
    }
  }

  private _trap(event: KeyboardEvent): void {
    const stops = Array.from(this.node.querySelectorAll<HTMLElement>(FOCUSABLE)).filter(
      stop => stop.offsetParent !== null && stop.tabIndex >= 0
    );
    const [first, last] = [stops[0], stops[stops.length - 1]];
    const at = document.activeElement;
    if (event.shiftKey ? at === first : at === last) {
      event.preventDefault();
      (event.shiftKey ? last : first)?.focus();
    }
  }

  private _keepFocus(event: Event): void {
    const target = event.target as Node;
    if (target instanceof Node && !this.node.contains(target) && !isOver(target)) {
      event.stopPropagation();
      this.node.querySelector<HTMLElement>(FOCUSABLE)?.focus();
    }
  }

  private get _content(): Element {
    return this.node.getElementsByClassName('jp-Dialog-content')[0] ?? this.node;
  }

  private readonly _opener: HTMLElement | null;
}

/** A menu or a notification above the dialog may have focus. */
function isOver(target: Node): boolean {
  return target instanceof Element && target.closest('.lm-Menu, .Toastify') !== null;
}

export interface DialogProps {
  close: () => void;
}

/** Show a dialog; `body` is given how to close it. Resolves when it is closed. */
export async function showGearshiftDialog(
  gearshift: IGearshift,
  options: { title: string; width: number; escape?: (close: () => void) => void },
  body: (props: DialogProps) => React.ReactElement
): Promise<void> {
  let close = (): void => undefined;
  const widget = ReactWidget.create(<Root gearshift={gearshift}>{body({ close: () => close() })}</Root>);
  const dialog = new GearshiftDialog(widget, options.title, options.width, () =>
    options.escape ? options.escape(close) : close()
  );
  close = () => dialog.reject();
  await dialog.launch();
}

/** Title, content and foot of a dialog; the content scrolls, the foot stays. */
export function DialogBody(props: {
  title: string;
  close: () => void;
  say?: React.ReactNode;
  left?: React.ReactNode;
  buttons: React.ReactNode;
  children: React.ReactNode;
}): React.ReactElement {
  const { words } = useGearshift();
  return (
    <div className="gs-body">
      <div className="gs-title">
        <h2 id="gs-dialog-title">{props.title}</h2>
        <IconButton icon="x" label={words.t('Close')} onClick={props.close} />
      </div>
      <div className="gs-inner">{props.children}</div>
      <div className="gs-foot">
        {props.left}
        {props.say && <div className="say gs-small gs-muted">{props.say}</div>}
        <div className="gs-buttons">{props.buttons}</div>
      </div>
    </div>
  );
}

/** The first focus of a dialog: on Cancel, so that Enter there never confirms. */
export function CancelButton(props: { onClick: () => void; children?: string }): React.ReactElement {
  const { words } = useGearshift();
  const ref = useFirstFocus<HTMLButtonElement>();
  return (
    <Button ref={ref} look="plain" size="large" onClick={props.onClick}>
      {props.children ?? words.t('Cancel')}
    </Button>
  );
}

export function useFirstFocus<E extends HTMLElement>(): React.RefObject<E> {
  const ref = React.useRef<E>(null);
  React.useEffect(() => ref.current?.focus(), []);
  return ref;
}

/** The press that confirms: a trusted event of the person, and inert while the dialog is new. */
export function ConfirmButton(props: {
  look?: 'primary' | 'danger' | 'plain';
  closed?: string | null;
  busy?: boolean;
  /** When what is shown changes, the press is inert anew. */
  shown?: string;
  onConfirm: () => void;
  children: string;
}): React.ReactElement {
  const since = React.useRef(Date.now());
  React.useLayoutEffect(() => {
    since.current = Date.now();
  }, [props.shown]);
  const press = (event: React.MouseEvent): void => {
    if (event.nativeEvent.isTrusted && Date.now() - since.current >= INERT_MS && !props.busy) {
      props.onConfirm();
    }
  };
  return (
    <Button look={props.look ?? 'primary'} size="large" closed={props.closed} aria-busy={props.busy} onClick={press}>
      {props.children}
    </Button>
  );
}
