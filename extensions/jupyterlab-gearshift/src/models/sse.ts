/** How a `text/event-stream` is cut into events; the text may arrive in any pieces. */

export interface ServerEvent {
  id: string;
  kind: string;
  data: unknown;
}

export class EventParser {
  /** Feed a piece of the stream; the events it completes come back. Comments (the beat) give none. */
  push(piece: string): ServerEvent[] {
    this._rest += piece;
    const lines = this._rest.split(/\r\n|\n|\r(?!$)/);
    this._rest = lines.pop() ?? '';
    const events: ServerEvent[] = [];
    for (const line of lines) {
      const event = this._line(line);
      if (event) {
        events.push(event);
      }
    }
    return events;
  }

  private _line(line: string): ServerEvent | null {
    if (line === '') {
      return this._finish();
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'id') {
      this._id = value;
    } else if (field === 'event') {
      this._kind = value;
    } else if (field === 'data') {
      this._data.push(value);
    }
    return null;
  }

  private _finish(): ServerEvent | null {
    const [data, kind] = [this._data.join('\n'), this._kind || 'message'];
    this._data = [];
    this._kind = '';
    if (data === '') {
      return null;
    }
    try {
      return { id: this._id, kind, data: JSON.parse(data) as unknown };
    } catch {
      return null; // a torn line is not an event; the stream is resumed by id
    }
  }

  private _rest = '';
  private _id = '';
  private _kind = '';
  private _data: string[] = [];
}
