/** What a start brought back of the kernels, and what it did not, with why. */

import * as React from 'react';

import type { Operation } from '../../api/records.js';
import { reportsOf, restoredBy } from '../../models/operations.js';
import { useGearshift } from '../context.js';
import { DialogBody, useFirstFocus } from '../dialog.js';
import { Button, Note } from '../parts.js';
import { Moved } from './Moved.js';

export function StartReport({ op, close }: { op: Operation; close: () => void }): React.ReactElement {
  const { words } = useGearshift();
  const first = useFirstFocus<HTMLButtonElement>();
  const error = restoredBy(op)?.error;
  const reports = reportsOf(op);
  return (
    <DialogBody
      title={words.t('Start report')}
      close={close}
      buttons={
        <Button ref={first} look="primary" size="large" onClick={close}>
          {words.t('Done')}
        </Button>
      }
    >
      {error && (
        <Note tone="warn" icon="warn" role="alert" more={words.t('It stays kept, and can be brought back under Machine › History.')}>
          {(words.language === 'zh' ? error.message_zh : error.message) ?? error.code}
        </Note>
      )}
      {reports
        .filter(report => report.error)
        .map(report => (
          <Note key={report.path} tone="warn" icon="warn">
            {words.t('The kernel of {path} came back empty: {cause}', { path: report.path, cause: report.error?.text ?? '' })}
          </Note>
        ))}
      <Moved reports={reports} close={close} />
    </DialogBody>
  );
}
