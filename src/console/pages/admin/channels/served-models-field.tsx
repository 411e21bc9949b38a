import { Anchor, TagsInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { listModelRows } from '../../../../contract/models.ts';
import { listQuery } from '../../../data/query-any-admin-endpoint.ts';
import type { Vendor } from '../../../data/vendor-queries.ts';

interface ModelsFieldProps {
  readonly vendor: Pick<Vendor, 'name' | 'kind'>;
  readonly value: readonly string[];
  readonly onChange: (models: string[]) => void;
  /** A new channel of a video vendor starts with all there are; what a chat upstream has, its test finds out. */
  readonly isNew: boolean;
}

/** Public names the channel serves; one without a row yet may be typed as well. */
export function ServedModelsField({ vendor: { name: vendor, kind }, value, onChange, isNew }: ModelsFieldProps) {
  const { t } = useTranslation('admin-channels');
  const rows = useQuery(listQuery(listModelRows, { vendor, page_size: '50' }));
  // What is kept on the screen meanwhile is the vendor's before.
  const known = rows.isPlaceholderData ? undefined : rows.data?.data.map(({ id }) => id);
  const filledFor = useRef<string>(undefined);
  useEffect(() => {
    if (!isNew || kind === 'chat' || known === undefined || filledFor.current === vendor) return;
    filledFor.current = vendor;
    onChange(known);
  }, [isNew, kind, known, vendor, onChange]);
  const missing = known?.filter((id) => !value.includes(id)) ?? [];
  return (
    <TagsInput
      label={t('channels.models')}
      description={
        <>
          {t(isNew && kind === 'chat' ? 'channels.modelsLaterHint' : 'channels.modelsHint')}{' '}
          {missing.length === 0 ? null : (
            <Anchor component="button" type="button" size="xs" onClick={() => onChange([...value, ...missing])}>
              {t('channels.allModels', { count: missing.length })}
            </Anchor>
          )}
        </>
      }
      data={known ?? []}
      value={[...value]}
      onChange={onChange}
      splitChars={[',', ' ', '\n']}
      maxDropdownHeight={240}
      clearable
      clearButtonProps={{ 'aria-label': t('channels.clearModels'), 'aria-hidden': false, tabIndex: 0 }}
    />
  );
}
