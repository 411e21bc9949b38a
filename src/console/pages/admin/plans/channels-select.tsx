import { MultiSelect } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useChannels } from '../../../data/user-and-channel-names.ts';

interface ChannelsSelectProps {
  readonly label: string;
  readonly description: string;
  /** Ids. */
  readonly value: readonly string[];
  readonly onChange: (channels: readonly string[]) => void;
}

/** Several of the channels there are; one that was removed stays selected until it is taken out. */
export function ChannelsSelect({ label, description, value, onChange }: ChannelsSelectProps) {
  const { t } = useTranslation();
  const known = useChannels().map(({ id, name }) => ({ value: String(id), label: `${name} (${id})` }));
  const removed = value
    .filter((id) => known.every((each) => each.value !== id))
    .map((id) => ({ value: id, label: id }));
  return (
    <MultiSelect
      label={label}
      description={description}
      data={[...known, ...removed]}
      searchable
      clearable
      clearButtonProps={{ 'aria-label': t('remove') }}
      value={[...value]}
      onChange={onChange}
    />
  );
}
