import { MultiSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { usableModelsQuery } from '../data/self.ts';

interface ModelsSelectProps {
  readonly label: string;
  readonly description: string;
  readonly value: readonly string[];
  readonly onChange: (models: readonly string[]) => void;
}

/** Selects several models; a selected model that is no longer available stays selected until removed. */
export function ModelsSelect({ label, description, value, onChange }: ModelsSelectProps) {
  const { t } = useTranslation();
  const models = useQuery(usableModelsQuery);
  return (
    <MultiSelect
      label={label}
      description={description}
      data={[...new Set([...(models.data ?? []).map(({ id }) => id), ...value])]}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': t('remove') }}
      value={[...value]}
      onChange={onChange}
    />
  );
}
