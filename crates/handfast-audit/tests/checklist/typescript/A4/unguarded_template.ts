// expect: A4=finding B3=finding
import * as http from "http";
import * as fs from "fs";

http
  .createServer((req, res) => {
    const file = `/srv/www${decodeURIComponent(req.url ?? "/")}`;
    fs.readFile(file, (err, data) => {
      res.writeHead(err ? 404 : 200);
      res.end(data);
    });
  })
  .listen(8080);
