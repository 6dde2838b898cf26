// The nodes of a cluster, and its partitions: who owns what, how far links are behind, what the next owner would find.
// From /nodes, every second while the view is open; on one machine there is no such view.

import { ask } from "./api.js";
import { find, make, match, say } from "./dom.js";
import { show } from "./router.js";
import * as words from "./text.js";

const STATES = { working: "of-done", opening: "of-waiting", "held up": "of-waiting", spare: "", missing: "of-failed" };
const NODE = ["partitions", "rate", "flight", "behind", "journal", "restores", "rebalances", "workers", "memory", "owned", "version"];
const ROOMY = new Set(["flight", "journal", "restores", "rebalances", "workers", "memory", "owned", "version"]);
const PARTITION = ["owner", "queued", "behind", "epoch", "pages", "journal", "snapshot", "restored"];
const PARTITION_ROOMY = new Set(["epoch", "pages", "journal", "snapshot", "restored"]);

const BASES = { disk: "its disk", snapshot: "a snapshot", nothing: "the journal alone" };

/** A crawl on one machine has none; the link to this view is there where there are some. */
export function showCluster({ cluster, is_whole_cluster, look_age_s }) {
  find("#views [data-view=nodes]").hidden = cluster === null;
  if (is_whole_cluster) {
    say(find("#latest-none"), "Single pages are told by each node: gossamer serve NODE-FOLDER, on its machine.");
    say(find("#log-none"), "Each node has a log of its own, on its machine.");
  }
  const isOld = look_age_s !== null && look_age_s >= 10;
  find("#look-age").toggleAttribute("data-empty", !isOld);
  if (isOld) say(find("#look-age"), `Hosts and pages are as of ${words.span(look_age_s)} ago; whoever asks for them starts the next look.`);
  show();
}

export async function keepNodes() {
  const answer = await ask("/nodes");
  say(find("#nodes-note"), noteOf(answer));
  const alarms = alarmsOf(answer);
  match(find("#nodes-alarms"), alarms, (text) => text, () => make("li"), (item, text) => say(item, text));
  find("#nodes-alarms").hidden = alarms.length === 0;
  match(find("#nodes-rows"), answer.nodes, ({ name }) => name, nodeRow, updateNode);
  find("#nodes-none").hidden = answer.nodes.length > 0;
  match(find("#partitions-rows"), answer.partitions, ({ partition }) => partition, partitionRow, updatePartition);
  const owned = answer.partitions.filter(({ owner }) => owner !== null).length;
  say(find("#partitions-note"), `${words.count(owned)} of ${words.counted(answer.partitions.length, "partition")} have an owner`);
}

function noteOf({ cluster, coordinator, links_dead, is_whole }) {
  const dead = links_dead ? `${words.counted(links_dead, "message")} of links set aside (links-dead)` : "no links set aside";
  const all = is_whole ? "" : "this node alone";
  return [cluster, all, coordinator ? `coordinated by ${coordinator}` : "nobody coordinates", links_dead === null ? "" : dead]
    .filter(Boolean)
    .join(" · ");
}

function alarmsOf({ nodes, partitions, trouble, look_trouble, is_whole }) {
  const missing = nodes.filter(({ state }) => state === "missing");
  const unowned = partitions.filter(({ owner, damage }) => owner === null && !damage);
  const isOver = ["stopped", "complete"].includes(document.body.dataset.state);
  return [
    trouble,
    look_trouble,
    ...(isOver ? [] : missing.map(({ name, silent_s }) => `${name} was not heard of for ${words.span(silent_s)}.`)),
    is_whole && !isOver && unowned.length ? `Nobody owns ${words.counted(unowned.length, "partition")}.` : "",
    ...new Set(nodes.map(({ shared_away }) => shared_away)),
    ...nodes.flatMap(({ name, held_up }) => (held_up ? [`${name}: ${held_up}`] : [])),
    ...nodes.flatMap(({ damage }) => damage.map(({ partition, text }) => `Partition ${partition}: ${text}`)),
  ].filter(Boolean);
}

const cells = (names, roomy) =>
  names.map((name) => make(`td${name === "owner" ? "" : ".number"}${roomy.has(name) ? ".roomy" : ""}`));

const nodeRow = ({ name }) =>
  make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, make("span.pill")), ...cells(NODE, ROOMY));

function updateNode(row, node) {
  const pill = row.children[1].firstChild;
  say(pill, node.state);
  pill.className = `pill ${STATES[node.state] ?? ""}`;
  row.children[0].title = `since ${words.moment(node.started_at)}${node.coordinates ? "; it coordinates" : ""}`;
  row.children[0].classList.toggle("coordinates", node.coordinates);
  const opening = node.opening ? ` + ${words.count(node.opening)}` : "";
  const restored = node.restores ? ` in ${words.shortSpan(node.restored_s)}` : "";
  const figures = {
    partitions: `${words.count(node.partitions.length)}${opening}`,
    rate: words.rate(node.pages_per_s),
    flight: words.count(node.in_flight),
    behind: words.count(node.links_behind),
    journal: words.size(node.unacknowledged_bytes),
    restores: `${words.count(node.restores)}${restored}`,
    rebalances: node.losses ? `${words.count(node.rebalances)}, ${words.counted(node.losses, "loss")}` : words.count(node.rebalances),
    workers: words.count(node.workers),
    memory: words.size(node.memory_bytes),
    owned: node.owned_for_s ? words.span(node.owned_for_s) : "–",
    version: node.version,
  };
  NODE.forEach((name, place) => say(row.children[place + 2], figures[name]));
}

const partitionRow = ({ partition }) =>
  make("tr", {}, make("th", { scope: "row" }, String(partition)), ...cells(PARTITION, PARTITION_ROOMY));

function updatePartition(row, each) {
  const known = (value, text) => (value === null ? "–" : text(value));
  const figures = {
    owner: each.owner ?? (each.last_owner ? `nobody, last ${each.last_owner}` : "nobody"),
    queued: known(each.queued, words.count),
    behind: known(each.links_behind, words.count),
    epoch: known(each.epoch, words.count),
    pages: known(each.pages, words.count),
    journal: known(each.unacknowledged_bytes, words.size),
    snapshot: each.snapshot_age_s === null ? "none yet" : `${words.span(each.snapshot_age_s)} ago, ${words.size(each.snapshot_bytes)}`,
    restored: each.restored === null ? "–" : `${BASES[each.restored]}, ${words.shortSpan(each.restored_s)}`,
  };
  PARTITION.forEach((name, place) => say(row.children[place + 1], figures[name]));
  row.children[1].classList.toggle("bad", each.owner === null);
}
