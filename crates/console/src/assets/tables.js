// A table that is chosen instead of lines: each row of a CSV file fills a template, here in the browser. Other tables are read by the
// command, which is shown.
"use strict";
(() => {
  const part = (name) => document.getElementById(`table-${name}`);
  const file = document.querySelector("form[data-check] input[type=file]");
  if (!file) return;
  const form = file.form;
  const BYTES_MAX = 32 << 20;
  const HOLE = /\{\{\s*(?:([A-Za-z_]\w*)|row\[("(?:[^"\\]|\\.)+")\])\s*\}\}/g;
  let table = null;
  let lines = null;

  // CSV as RFC 4180 has it: the rows, each with the line on which it begins.
  const read = (text) => {
    const rows = [];
    let cells = [];
    let [at, line, begun, isBlank] = [0, 1, 1, true];
    const end = () => {
      if (!isBlank) rows.push({ line: begun, cells });
      [cells, begun, isBlank] = [[], line, true];
    };
    while (at < text.length) {
      let cell;
      if (text[at] === '"') {
        let close = text.indexOf('"', at + 1);
        while (close >= 0 && text[close + 1] === '"') close = text.indexOf('"', close + 2);
        if (close < 0) throw new Error(`Line ${line}: a quote does not close.`);
        const inside = text.slice(at + 1, close);
        cell = inside.replaceAll('""', '"');
        line += inside.split(/\r\n|\r|\n/).length - 1;
        at = close + 1;
        if (at < text.length && !",\r\n".includes(text[at])) throw new Error(`Line ${line}: there is text behind a closing quote.`);
        isBlank = false;
      } else {
        const plain = /[^,\r\n]*/y;
        plain.lastIndex = at;
        [cell] = plain.exec(text);
        at += cell.length;
        isBlank &&= cell === "" && text[at] !== ",";
      }
      cells.push(cell);
      if (text[at] === ",") {
        at += 1;
        if (at === text.length) cells.push("");
        continue;
      }
      at += text.startsWith("\r\n", at) ? 2 : 1;
      line += 1;
      end();
    }
    if (cells.length) end();
    return rows;
  };

  const count = (number, word) => `${number.toLocaleString("en-GB")} ${word}${number === 1 ? "" : "s"}`;

  // The rows behind the names of the columns, all as long as these.
  const tableOf = (name, text) => {
    const [head, ...rows] = read(text);
    if (!head || !rows.length) throw new Error("The file has no row behind the names of its columns.");
    const columns = head.cells;
    if (new Set(columns).size < columns.length) throw new Error("Two columns have the same name.");
    const odd = rows.find((row) => row.cells.length !== columns.length);
    if (odd) throw new Error(`Line ${odd.line} has ${count(odd.cells.length, "cell")}, the first line has ${columns.length}.`);
    return { name, columns, rows };
  };

  // The column that a place of a template names: as a word, or quoted as JSON quotes it.
  const named = (word, quoted) => {
    try {
      return word ?? JSON.parse(quoted);
    } catch {
      return quoted;
    }
  };
  // How many columns are named.
  const check = (template) => {
    const holes = [...template.matchAll(HOLE)];
    for (const [, word, quoted] of holes) {
      const name = named(word, quoted);
      if (!table.columns.includes(name)) throw new Error(`There is no column “${name}”. The columns are: ${table.columns.join(", ")}.`);
    }
    if (/\{\{|\{%|\{#/.test(template.replace(HOLE, ""))) {
      throw new Error("Only columns in double braces are filled in here. For filters and conditions use overnight submit.");
    }
    return holes.length;
  };
  const hole = (name) => (/^[A-Za-z_]\w*$/.test(name) ? `{{ ${name} }}` : `{{ row[${JSON.stringify(name)}] }}`);
  const fill = (template, { cells }) =>
    template.replace(HOLE, (hole, word, quoted) => cells[table.columns.indexOf(named(word, quoted))]);

  const requestOf = (row, place) => {
    const messages = [{ role: "user", content: fill(part("prompt").value, row) }];
    const system = part("system").value.trim();
    if (system) messages.unshift({ role: "system", content: fill(system, row) });
    const own = ["custom_id", "id"].map((name) => table.columns.indexOf(name)).find((column) => column >= 0);
    const metadata = own === undefined ? { row: place + 1 } : { custom_id: row.cells[own], row: place + 1 };
    const limit = Number(part("limit").value);
    return { request_body: { model: part("model").value, messages, ...(limit && { max_tokens: limit }) }, metadata };
  };

  const render = () => {
    if (!part("prompt").value.trim()) throw new Error("Write the prompt of each row.");
    const limit = part("limit").value.trim();
    if (limit && !/^[1-9]\d*$/.test(limit)) throw new Error("The output limit must be a whole number above 0.");
    const uses = check(part("prompt").value) + check(part("system").value);
    if (!uses) throw new Error(`The prompt names no column, so every row would be asked the same. Put one in double braces: ${hole(table.columns[0])}`);
    return table.rows;
  };

  const say = (wrong) => {
    part("wrong").hidden = !wrong;
    part("wrong").textContent = wrong;
  };
  const preview = () => {
    lines = null;
    part("first").textContent = "";
    if (!part("prompt").value.trim()) return say("");
    try {
      const [first] = render();
      part("first").textContent = JSON.stringify(requestOf(first, 0), null, 1);
      say("");
    } catch (error) {
      say(error.message);
    }
  };

  const showTable = () => {
    part("said").textContent = `${table.name}: ${count(table.rows.length, "row")}, ${count(table.columns.length, "column")}. A column that is clicked is put into the prompt.`;
    part("columns").replaceChildren(...table.columns.map((name) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.onclick = () => {
        const prompt = part("prompt");
        prompt.setRangeText(hole(name), prompt.selectionStart, prompt.selectionEnd, "end");
        prompt.focus();
        preview();
      };
      return button;
    }));
    preview();
  };
  const showCommand = (name, why) => {
    const quoted = /^[\w.+@-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`;
    part("why").textContent = why;
    part("command").textContent = `overnight submit ${quoted} --model ${part("model").value} --prompt 'Summarise: {{ subject }}' --wait`;
    part("elsewhere").hidden = false;
  };

  // Gives up at the bound, not after the last row.
  const linesOf = () => {
    const made = [];
    let length = 0;
    for (const [place, row] of render().entries()) {
      made.push(`${JSON.stringify(requestOf(row, place))}\n`);
      length += made[place].length;
      if (length > BYTES_MAX) {
        showCommand(table.name, "The rows become more than 32 MiB. The command line sends files of any length:");
        throw new Error("The rows become more than 32 MiB. Use the command below.");
      }
    }
    return new Blob(made);
  };

  const choose = async () => {
    [table, lines] = [null, null];
    const [chosen] = file.files;
    part("box").hidden = true;
    part("elsewhere").hidden = true;
    say("");
    if (!chosen) return;
    const name = chosen.name.toLowerCase();
    if (/\.(parquet|pq|gz|zst)$/.test(name)) return showCommand(chosen.name, "Parquet and compressed files are read by the command line, row by row:");
    if (chosen.size > BYTES_MAX) return showCommand(chosen.name, "The file is longer than 32 MiB. The command line sends files of any length:");
    if (!name.endsWith(".csv")) return;
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(await chosen.arrayBuffer());
      if (file.files[0] !== chosen) return;
      table = tableOf(chosen.name, text);
      part("box").hidden = false;
      showTable();
    } catch (error) {
      say(error instanceof TypeError ? "The file is not UTF-8." : error.message);
    }
  };

  // Before anything else is done with the form: its file becomes lines, or it is not sent.
  form.addEventListener("submit", (event) => {
    if (!file.files.length || !/\.(csv|parquet|pq|gz|zst)$/i.test(file.files[0].name)) return;
    try {
      if (!table) throw new Error(part("elsewhere").hidden ? part("wrong").textContent || "The file is still being read." : "Use the command below for this file.");
      lines = linesOf();
      say("");
    } catch (error) {
      event.preventDefault();
      event.stopImmediatePropagation();
      say(error.message);
    }
  }, true);
  form.addEventListener("formdata", ({ formData }) => {
    if (table && lines) formData.set("file", new File([lines], `${table.name}.jsonl`));
  });

  file.addEventListener("change", choose);
  for (const name of ["prompt", "system", "limit", "model"]) part(name).addEventListener("input", preview);
  if (file.files.length) choose();
})();
