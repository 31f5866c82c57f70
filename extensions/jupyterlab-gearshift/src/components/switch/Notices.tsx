/** What was told of this workspace in the last days: memory that ran out, kernels that ended, idle time, machines held. */

import * as React from 'react';

import type { Told } from '../../api/answers.js';
import { asApiError, type ApiError } from '../../api/errors.js';
import { useFormat, useGearshift } from '../context.js';
import { Refused } from '../parts.js';

export function Notices(): React.ReactElement | null {
  const { client, words } = useGearshift();
  const format = useFormat();
  const [told, setTold] = React.useState<Told[]>([]);
  const [error, setError] = React.useState<ApiError | null>(null);
  const read = React.useCallback(() => {
    setError(null);
    client.notices().then(setTold, reason => setError(asApiError(reason)));
  }, [client]);
  React.useEffect(read, [read]);
  if (error) {
    return <Refused error={error} retry={read} />;
  }
  if (!told.length) {
    return null;
  }
  return (
    <section aria-labelledby="gs-told">
      <h3 id="gs-told" style={{ margin: '16px 0 8px' }}>
        {words.t('What was told')}
      </h3>
      <div className="gs-card cut">
        <table className="gs-table dense" aria-label={words.t('What was told')}>
          <tbody>
            {told.map(one => (
              <tr key={`${one.at} ${one.en}`}>
                <td className="sub">{format.moment(one.at)}</td>
                <td>{words.pick(one)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
