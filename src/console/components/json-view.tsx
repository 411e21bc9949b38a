import { Code } from '@mantine/core';
import { CopyIconButton } from './copy-button-and-field.tsx';

/** Shows external data as plain text only, because it is not trusted; limited in height, with a scroll bar. */
export function JsonView({ value }: { readonly value: unknown }) {
  const text = JSON.stringify(value, null, 2) ?? '';
  return (
    <div style={{ position: 'relative' }}>
      <Code block mah={320} tabIndex={0} style={{ overflow: 'auto', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {text}
      </Code>
      <div style={{ position: 'absolute', top: 4, right: 4 }}>
        <CopyIconButton text={text} />
      </div>
    </div>
  );
}
