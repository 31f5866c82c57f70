/** The icons: those of the mock-ups as inline SVG, and LabIcons where JupyterLab asks for one. */

import { LabIcon } from '@jupyterlab/ui-components';
import * as React from 'react';

const SHAPES = {
  gate: [
    '0 0 24 24',
    '<g stroke="currentColor" fill="none" stroke-width="2.2" stroke-linecap="round" stroke-linejoin="round"><path d="M5 4.5v15M12 8v11.5M19 4.5v15M5 12h14"/></g><circle cx="12" cy="5" r="3.2"/>'
  ],
  play: [
    '0 0 24 24',
    '<path d="M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20m-2 14.5v-9l6 4.5z"/>'
  ],
  refresh: [
    '0 0 18 18',
    '<path d="M9 13.5c-2.49 0-4.5-2.01-4.5-4.5S6.51 4.5 9 4.5c1.24 0 2.36.52 3.17 1.33L10 8h5V3l-1.76 1.76A6 6 0 0 0 9 3C5.69 3 3.01 5.69 3.01 9S5.69 15 9 15a5.98 5.98 0 0 0 5.9-5h-1.52c-.46 2-2.24 3.5-4.38 3.5"/>'
  ],
  launch: [
    '0 0 32 32',
    '<g><path d="M26 28H6a2.003 2.003 0 0 1-2-2V6a2.003 2.003 0 0 1 2-2h10v2H6v20h20V16h2v10a2.003 2.003 0 0 1-2 2"/><path d="M20 2v2h6.586L18 12.586 19.414 14 28 5.414V12h2V2z"/></g>'
  ],
  caret: [
    '0 0 18 18',
    '<path d="M5.2 7.5 9 11.2l3.8-3.8H5.2z" shape-rendering="geometricPrecision"/>'
  ],
  swap: [
    '0 0 24 24',
    '<path d="M6.99 11 3 15l3.99 4v-3H14v-2H6.99zM21 9l-3.99-4v3H10v2h7.01v3z"/>'
  ],
  add: [
    '0 0 24 24',
    '<path d="M19 13h-6v6h-2v-6H5v-2h6V5h2v6h6z"/>'
  ],
  disk: [
    '0 0 24 24',
    '<path d="M2 20h20v-4H2zm2-3h2v2H4zM2 4v4h20V4zm4 3H4V5h2zm-4 7h20v-4H2zm2-3h2v2H4z"/>'
  ],
  search: [
    '0 0 18 18',
    '<path d="M12.1 10.9h-.7l-.2-.2c.8-.9 1.3-2.2 1.3-3.5 0-3-2.4-5.4-5.4-5.4S1.8 4.2 1.8 7.1s2.4 5.4 5.4 5.4c1.3 0 2.5-.5 3.5-1.3l.2.2v.7l4.1 4.1 1.2-1.2zm-5 0c-2.1 0-3.7-1.7-3.7-3.7s1.7-3.7 3.7-3.7 3.7 1.7 3.7 3.7-1.6 3.7-3.7 3.7"/>'
  ],
  data: [
    '0 0 24 24',
    '<g stroke="currentColor" fill="none" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"><ellipse cx="12" cy="5.5" rx="8" ry="3"/><path d="M4 5.5v13c0 1.66 3.58 3 8 3s8-1.34 8-3v-13M4 12c0 1.66 3.58 3 8 3s8-1.34 8-3"/></g>'
  ],
  ok: [
    '0 0 24 24',
    '<path d="M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20m-2 15-5-5 1.41-1.41L10 14.17l7.59-7.59L19 8z"/>'
  ],
  model: [
    '0 0 24 24',
    '<g stroke="currentColor" fill="none" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"><path d="M6.5 7.2 10 11M17.5 7.2 14 11M6.5 16.8 10 13M17.5 16.8 14 13"/><circle cx="5" cy="5.5" r="2.3"/><circle cx="19" cy="5.5" r="2.3"/><circle cx="5" cy="18.5" r="2.3"/><circle cx="19" cy="18.5" r="2.3"/></g><circle cx="12" cy="12" r="2.8"/>'
  ],
  jobs: [
    '0 0 24 24',
    '<path d="m11.99 18.54-7.37-5.73L3 14.07l9 7 9-7-1.63-1.27zM12 16l7.36-5.73L21 9l-9-7-9 7 1.63 1.27z"/>'
  ],
  fail: [
    '0 0 24 24',
    '<path d="M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20m5 13.59L15.59 17 12 13.41 8.41 17 7 15.59 10.59 12 7 8.41 8.41 7 12 10.59 15.59 7 17 8.41 13.41 12z"/>'
  ],
  clock: [
    '0 0 24 24',
    '<path d="M11.99 2C6.47 2 2 6.48 2 12s4.47 10 9.99 10S22 17.52 22 12 17.52 2 11.99 2M12 20c-4.42 0-8-3.58-8-8s3.58-8 8-8 8 3.58 8 8-3.58 8-8 8m.5-13H11v6l5.25 3.15.75-1.23-4.5-2.67z"/>'
  ],
  none: [
    '0 0 24 24',
    '<path d="M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20M4 12a8 8 0 0 1 12.9-6.31L5.69 16.9A7.9 7.9 0 0 1 4 12m8 8a7.9 7.9 0 0 1-4.9-1.69L18.31 7.1A8 8 0 0 1 12 20"/>'
  ],
  ring: [
    '0 0 24 24',
    '<path d="M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20m0 18a8 8 0 1 1 0-16 8 8 0 0 1 0 16"/>'
  ],
  busy: [
    '0 0 24 24',
    '<circle cx="12" cy="12" r="9" stroke="currentColor" fill="none" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round"  opacity=".25"/><path d="M12 3a9 9 0 0 1 9 9" stroke="currentColor" fill="none" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round" />'
  ],
  rerun: [
    '0 0 24 24',
    '<path d="M12 5V1L7 6l5 5V7a6 6 0 1 1-6 6H4a8 8 0 1 0 8-8"/>'
  ],
  warn: [
    '0 0 24 24',
    '<path d="M1 21h22L12 2zm12-3h-2v-2h2zm0-4h-2v-4h2z"/>'
  ],
  offline: [
    '0 0 24 24',
    '<path d="M19.35 10.04A7.49 7.49 0 0 0 12 4c-1.48 0-2.85.43-4.01 1.17l1.46 1.46A5.5 5.5 0 0 1 17.5 11.5v.5H19a3 3 0 0 1 1.44 5.62l1.45 1.45A5 5 0 0 0 19.35 10.04M3 5.27l2.75 2.74A6 6 0 0 0 6 20h11.73l2 2L21 20.73 4.27 4zM7.73 10l8 8H6a4 4 0 1 1 0-8z"/>'
  ],
  info: [
    '0 0 24 24',
    '<path d="M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20m1 15h-2v-6h2zm0-8h-2V7h2z"/>'
  ],
  cpu: [
    '0 0 24 24',
    '<g stroke="currentColor" fill="none" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"><rect x="6" y="6" width="12" height="12" rx="1.5"/><rect x="10" y="10" width="4" height="4"/><path d="M9 3v3M15 3v3M9 18v3M15 18v3M3 9h3M3 15h3M18 9h3M18 15h3"/></g>'
  ],
  gpu: [
    '0 0 24 24',
    '<g stroke="currentColor" fill="none" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"><path d="M2.5 4.5v15M2.5 7.5h18a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1h-18M6 16.5v2h5v-2"/><circle cx="9" cy="12" r="2.3"/><circle cx="16" cy="12" r="2.3"/></g>'
  ],
  right: [
    '0 0 24 24',
    '<path d="m12 4-1.41 1.41L16.17 11H4v2h12.17l-5.58 5.59L12 20l8-8z"/>'
  ],
  check: [
    '0 0 24 24',
    '<path d="M9 16.17 4.83 12l-1.42 1.41L9 19 21 7l-1.41-1.41z"/>'
  ],
  stopped: [
    '0 0 24 24',
    '<path d="M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20m4 14H8V8h8z"/>'
  ],
  cost: [
    '0 0 24 24',
    '<path d="M21 18v1c0 1.1-.9 2-2 2H5a2 2 0 0 1-2-2V5c0-1.1.89-2 2-2h14c1.1 0 2 .9 2 2v1h-9a2 2 0 0 0-2 2v8c0 1.1.89 2 2 2zm-9-2h10V8H12zm4-2.5c-.83 0-1.5-.67-1.5-1.5s.67-1.5 1.5-1.5 1.5.67 1.5 1.5-.67 1.5-1.5 1.5"/>'
  ],
  users: [
    '0 0 36 24',
    '<g transform="translate(-3.628 .1)scale(1.7327)"><path d="M18.279 5.265c-1.58 0-2.964.85-3.718 2.115a6.7 6.7 0 0 1 2.81 2.21h5.23a4.32 4.32 0 0 0-4.322-4.325m2.186-2.875a2.19 2.19 0 0 1-2.188 2.188 2.19 2.19 0 0 1-2.189-2.189A2.19 2.19 0 0 1 18.277.201a2.19 2.19 0 0 1 2.188 2.188M5.385 6.633a3.02 3.02 0 0 0-3.02 3.02h4.22a6.7 6.7 0 0 1 1.44-1.467 3.02 3.02 0 0 0-2.64-1.553m1.53-2.01a1.53 1.53 0 0 1-1.529 1.53 1.53 1.53 0 0 1-1.53-1.53 1.53 1.53 0 0 1 1.53-1.53 1.53 1.53 0 0 1 1.53 1.53m-.781 8.912a5.865 5.865 0 0 1 11.73 0z"/><circle cx="12" cy="3.768" r="2.969"/></g>'
  ],
  shield: [
    '0 0 24 24',
    '<path d="M12 1 3 5v6c0 5.55 3.84 10.74 9 12 5.16-1.26 9-6.45 9-12V5zm-2 16-4-4 1.41-1.41L10 14.17l6.59-6.59L18 9z"/>'
  ],
  copy: [
    '0 0 18 18',
    '<path d="M11.9 1H3.2c-.8 0-1.5.7-1.5 1.5v10.2h1.5V2.5h8.7zm2.2 2.9h-8c-.8 0-1.5.7-1.5 1.5v10.2c0 .8.7 1.5 1.5 1.5h8c.8 0 1.5-.7 1.5-1.5V5.4c-.1-.8-.7-1.5-1.5-1.5m0 11.6h-8V5.4h8z"/>'
  ],
  download: [
    '0 0 24 24',
    '<path d="M19 9h-4V3H9v6H5l7 7zM5 18v2h14v-2z"/>'
  ],
  folder: [
    '0 0 24 24',
    '<path d="M10 4H4c-1.1 0-1.99.9-1.99 2L2 18c0 1.1.9 2 2 2h16c1.1 0 2-.9 2-2V8c0-1.1-.9-2-2-2h-8z"/>'
  ],
  more: [
    '0 0 24 24',
    '<g><circle cx="5" cy="12" r="2"/><circle cx="12" cy="12" r="2"/><circle cx="19" cy="12" r="2"/></g>'
  ],
  x: [
    '0 0 24 24',
    '<path d="M19 6.41 17.59 5 12 10.59 6.41 5 5 6.41 10.59 12 5 17.59 6.41 19 12 13.41 17.59 19 19 17.59 13.41 12z"/>'
  ],
  run: [
    '0 0 24 24',
    '<path d="M8 5v14l11-7z"/>'
  ],
  history: [
    '0 0 24 24',
    '<path d="M13.5 8H12v5l4.28 2.54.72-1.21-3.5-2.08zM13 3a9 9 0 0 0-9 9H1l3.96 4.03L9 12H6a7 7 0 0 1 7-7 7 7 0 0 1 7 7 7 7 0 0 1-7 7c-1.93 0-3.68-.79-4.94-2.06l-1.42 1.42A8.9 8.9 0 0 0 13 21a9 9 0 0 0 9-9 9 9 0 0 0-9-9"/>'
  ]
} as const;

export type IconName = keyof typeof SHAPES;

/** An icon beside a word: decoration, so it has no name of its own. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }): React.ReactElement {
  const [viewBox, shape] = SHAPES[name];
  return (
    <svg
      className={name === 'busy' ? 'gs-i gs-busy' : 'gs-i'}
      viewBox={viewBox}
      width={size}
      height={size}
      fill="currentColor"
      aria-hidden="true"
      focusable="false"
      dangerouslySetInnerHTML={{ __html: shape }}
    />
  );
}

/** The same where there is no React. */
export function iconElement(name: IconName, size: number): Element {
  const [viewBox, shape] = SHAPES[name];
  const made = document.createElement('template');
  made.innerHTML = `<svg class="gs-i" viewBox="${viewBox}" width="${size}" height="${size}" fill="currentColor" aria-hidden="true" focusable="false">${shape}</svg>`;
  return made.content.firstElementChild!;
}

function labIcon(name: IconName): LabIcon {
  const [viewBox, shape] = SHAPES[name];
  const svgstr = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="${viewBox}"><g class="jp-icon3" fill="#616161" color="#616161" style="color: var(--jp-inverse-layout-color3)">${shape}</g></svg>`;
  return new LabIcon({ name: `gearshift:${name}`, svgstr });
}

export const gateIcon = labIcon('gate');
export const swapIcon = labIcon('swap');
export const diskIcon = labIcon('disk');
export const dataIcon = labIcon('data');
export const jobsIcon = labIcon('jobs');
export const costIcon = labIcon('cost');
