import { Text, type TextProps } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { toAgo, toMoment } from '../data/time.ts';

/** How long ago, with the exact time on hover. @param at Unix seconds, null where it never happened. */
export function Moment({ at, never, ...text }: { readonly at: number | null; readonly never?: string } & TextProps) {
  useTranslation();
  if (at === null || at === 0)
    return (
      <Text component="span" inherit c="dimmed" {...text}>
        {never ?? '–'}
      </Text>
    );
  return (
    <Text component="time" inherit {...text} dateTime={new Date(at * 1000).toISOString()} title={toMoment(at)}>
      {toAgo(at)}
    </Text>
  );
}
