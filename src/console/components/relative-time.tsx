import { Text, type TextProps } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { formatDateTime, formatRelativeTime } from '../data/format-values.ts';

/** Relative time, with the exact time on hover. @param at Unix seconds; null: never */
export function RelativeTime({
  at,
  never,
  ...text
}: { readonly at: number | null; readonly never?: string } & TextProps) {
  useTranslation();
  if (at === null || at === 0)
    return (
      <Text component="span" inherit c="dimmed" {...text}>
        {never ?? '–'}
      </Text>
    );
  return (
    <Text
      component="time"
      inherit
      style={{ whiteSpace: 'nowrap' }}
      {...text}
      dateTime={new Date(at * 1000).toISOString()}
      onPointerEnter={({ currentTarget }) => {
        currentTarget.title = formatDateTime(at);
      }}
    >
      {formatRelativeTime(at)}
    </Text>
  );
}
